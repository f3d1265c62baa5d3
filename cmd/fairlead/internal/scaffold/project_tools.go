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

// toolRunner runs the tools of a project.
type toolRunner struct {
	dir      string
	fairlead Fairlead
	report   func(string)
}

// tidy completes go.mod and go.sum.
func (r toolRunner) tidy(ctx context.Context) error {
	r.report("completing go.mod")
	if err := r.seedSums(); err != nil {
		return err
	}
	return r.run(ctx, "go", "mod", "tidy")
}

// seedSums copies go.sum from the checkout of Fairlead if the project has no go.sum, so that the go command need not
// download the checksums.
func (r toolRunner) seedSums() error {
	place := filepath.Join(r.dir, "go.sum")
	if _, err := os.Stat(place); !errors.Is(err, fs.ErrNotExist) || r.fairlead.Dir == "" {
		return nil
	}
	sums, err := os.ReadFile(filepath.Join(r.fairlead.Dir, "go.sum"))
	if err != nil {
		return err
	}
	return os.WriteFile(place, sums, 0o644)
}

// generate generates deep copies and the definition, like make generate. It uses controller-gen of the checkout if the
// checkout has it.
func (r toolRunner) generate(ctx context.Context) error {
	built := filepath.Join(r.fairlead.Dir, "bin", "controller-gen")
	if _, err := os.Stat(built); r.fairlead.Dir != "" && err == nil && os.Getenv("CONTROLLER_GEN") == "" {
		r.report("generating deep copies and the definition")
		return r.run(ctx, "make", "generate", "CONTROLLER_GEN="+built)
	}
	r.report("generating deep copies and the definition; building controller-gen may take a minute")
	return r.run(ctx, "make", "generate")
}

// run runs a tool in the folder of the project. An error contains the output of the tool.
func (r toolRunner) run(ctx context.Context, name string, args ...string) error {
	command := exec.CommandContext(ctx, name, args...)
	command.Dir = r.dir
	// Environment variables of a Go workspace, or of a make that runs this program, must not affect the project.
	command.Env = append(slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return strings.HasPrefix(variable, "MAKEFLAGS=") || strings.HasPrefix(variable, "MAKELEVEL=") ||
			strings.HasPrefix(variable, "MFLAGS=")
	}), "GOWORK=off", "PWD="+r.dir)
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	err := command.Run()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("%s is required to complete the project: %w", name, err)
	case err != nil:
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(output.String()))
	}
	return nil
}
