package scaffold

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// workshop runs the tools of a project.
type workshop struct {
	dir      string
	fairlead Fairlead
	report   func(string)
}

// tidy completes go.mod and go.sum.
func (w workshop) tidy(ctx context.Context) error {
	w.report("completing go.mod")
	if err := w.seedSums(); err != nil {
		return err
	}
	return w.run(ctx, "go", "mod", "tidy")
}

// seedSums takes over the sums of the checkout, where the project has none: nobody needs to ask for them.
func (w workshop) seedSums() error {
	place := filepath.Join(w.dir, "go.sum")
	if _, err := os.Stat(place); !errors.Is(err, fs.ErrNotExist) || w.fairlead.Dir == "" {
		return nil
	}
	sums, err := os.ReadFile(filepath.Join(w.fairlead.Dir, "go.sum"))
	if err != nil {
		return err
	}
	return os.WriteFile(place, sums, 0o644)
}

// generate makes deep copies and the definition, as make generate does later. A checkout may have the tool already.
func (w workshop) generate(ctx context.Context) error {
	built := filepath.Join(w.fairlead.Dir, "bin", "controller-gen")
	if _, err := os.Stat(built); w.fairlead.Dir != "" && err == nil && os.Getenv("CONTROLLER_GEN") == "" {
		w.report("generating deep copies and the definition")
		return w.run(ctx, "make", "generate", "CONTROLLER_GEN="+built)
	}
	w.report("generating deep copies and the definition; building controller-gen may take a minute")
	return w.run(ctx, "make", "generate")
}

// run runs a tool in the project. Its output is part of the error.
func (w workshop) run(ctx context.Context, name string, args ...string) error {
	command := exec.CommandContext(ctx, name, args...)
	command.Dir = w.dir
	// A workspace or make around us is none of the project's.
	command.Env = append(slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return strings.HasPrefix(variable, "MAKEFLAGS=") || strings.HasPrefix(variable, "MAKELEVEL=") || strings.HasPrefix(variable, "MFLAGS=")
	}), "GOWORK=off", "PWD="+w.dir)
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	err := command.Run()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("%s is needed to complete the project: %w", name, err)
	case err != nil:
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(output.String()))
	}
	return nil
}
