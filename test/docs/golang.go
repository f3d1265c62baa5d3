package docs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// CheckGo compiles the Go blocks of the pages, those of a page together: imports and declarations are known in all of
// it, statements are those of one function, one after the other. What is declared and not used is no error.
func CheckGo(ctx context.Context, root string, pages []*Page) error {
	programs := map[*Page]*program{}
	imports := map[string]bool{}
	var errs []error
	for _, page := range pages {
		p, err := assemble(page)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if p != nil {
			programs[page] = p
			for _, path := range p.paths {
				imports[path] = true
			}
		}
	}
	lookup, err := exports(ctx, root, slices.Sorted(maps.Keys(imports)))
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	for _, page := range pages {
		if p := programs[page]; p != nil {
			errs = append(errs, p.compile(lookup))
		}
	}
	return errors.Join(errs...)
}

// program is what the Go blocks of a page come to.
type program struct {
	// paths are what is imported.
	paths                             []string
	imports, declarations, statements bytes.Buffer
	// depth counts the open scopes of the statements: each block may declare names anew.
	depth int
}

// assemble returns nil for a page without Go.
func assemble(page *Page) (*program, error) {
	p := &program{}
	found := false
	for _, block := range page.Blocks {
		if action, err := block.Decide(); err != nil || action != ActionCompile {
			continue
		}
		found = true
		if err := p.add(page.Path, block); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", page.Path, block.Line, err)
		}
	}
	if !found {
		return nil, nil
	}
	return p, nil
}

// header makes declarations a file. It has no line of its own, so that positions are those of the block.
const header = "package page;"

func (p *program) add(path string, block Block) error {
	position := fmt.Sprintf("//line %s:%d\n", path, block.Line)
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "", header+block.Text, parser.SkipObjectResolution)
	if err != nil {
		p.depth++
		p.statements.WriteString("{\n" + position + block.Text)
		return nil
	}
	rest := []byte(block.Text)
	for _, declaration := range file.Decls {
		general, ok := declaration.(*ast.GenDecl)
		if !ok || general.Tok != token.IMPORT {
			continue
		}
		start, end := files.Position(general.Pos()).Offset-len(header), files.Position(general.End()).Offset-len(header)
		fmt.Fprintf(&p.imports, "%s%s\n", position, rest[start:end])
		for i := start; i < end; i++ {
			if rest[i] != '\n' {
				rest[i] = ' '
			}
		}
	}
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return err
		}
		p.paths = append(p.paths, imported)
	}
	fmt.Fprintf(&p.declarations, "%s%s\n", position, rest)
	return nil
}

func (p *program) compile(lookup importer.Lookup) error {
	source := "package page\n" + p.imports.String() + p.declarations.String() +
		"func _() {\n" + p.statements.String() + strings.Repeat("}\n", p.depth) + "}\n"
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "assembled", source, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	var errs []error
	config := types.Config{Importer: importer.ForCompiler(files, "gc", lookup), Error: func(err error) {
		if found, ok := errors.AsType[types.Error](err); !ok || !found.Soft {
			errs = append(errs, err)
		}
	}}
	_, _ = config.Check("page", files, []*ast.File{file}, nil) // Its error is the first of those above.
	return errors.Join(errs...)
}

// exports finds compiled packages, and all that they are made of.
func exports(ctx context.Context, root string, paths []string) (importer.Lookup, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	list := exec.CommandContext(ctx, "go", append([]string{"list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}"}, paths...)...)
	var diagnosis bytes.Buffer
	list.Dir, list.Stderr = root, &diagnosis
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("packages that Go blocks import: %w\n%s", err, &diagnosis)
	}
	found := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		found[path] = file
	}
	return func(path string) (io.ReadCloser, error) {
		if found[path] == "" {
			return nil, fmt.Errorf("package %s is not known", path)
		}
		return os.Open(found[path])
	}, nil
}
