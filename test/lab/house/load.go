package main

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// load parses and type-checks the packages of a checkout that match patterns. Errors in the code are printed to the
// standard error, and the readable part of the code is measured.
func load(ctx context.Context, dir string, patterns ...string) (*code, error) {
	root, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	config := &packages.Config{
		Context: ctx, Dir: root, Env: append(os.Environ(), "GOWORK=off"),
		Mode: packages.LoadSyntax | packages.NeedModule,
	}
	found, err := packages.Load(config, patterns...)
	if err != nil {
		return nil, fmt.Errorf("load the packages of %s: %w", root, err)
	}
	if packages.PrintErrors(found) == len(found) {
		return nil, fmt.Errorf("no package of %s could be loaded", root)
	}
	c := &code{dir: root}
	for _, p := range found {
		if p.Module == nil {
			return nil, errors.New("the packages are not part of a module")
		}
		c.module = p.Module.Path
		if !slices.ContainsFunc(strings.Split(c.folder(p), "/"), leftOut) {
			p.Syntax = slices.DeleteFunc(p.Syntax, ast.IsGenerated)
			c.packages = append(c.packages, p)
		}
	}
	return c, nil
}

// leftOut reports whether a folder with the given name is excluded from the measures.
func leftOut(folder string) bool {
	switch folder {
	case "testdata", "templates", "bin":
		return true
	}
	return strings.HasPrefix(folder, ".") && folder != "."
}

// folder returns the folder of a package, relative to the root.
func (c *code) folder(p *packages.Package) string {
	return strings.TrimPrefix(strings.TrimPrefix(p.PkgPath, c.module), "/")
}

// position returns the file, relative to the root, and the line number of a position.
func (c *code) position(p *packages.Package, at token.Pos) string {
	position := p.Fset.Position(at)
	return fmt.Sprintf("%s:%d", c.relative(position.Filename), position.Line)
}

func (c *code) relative(file string) string {
	relative, err := filepath.Rel(c.dir, file)
	if err != nil {
		return file
	}
	return filepath.ToSlash(relative)
}
