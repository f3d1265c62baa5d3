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

// CheckGo compiles the Go blocks of pages. The blocks of a page are compiled together: imports and declarations are
// visible on the whole page, and the statements of all blocks form one function. Unused variables and imports are no
// errors.
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

// program contains the Go code of a page.
type program struct {
	// paths are the imported packages.
	paths                             []string
	imports, declarations, statements bytes.Buffer
	// depth is the number of open scopes. Each block opens a scope, so it may declare the same names again.
	depth int
}

// assemble returns the program of a page, or nil if the page contains no Go block.
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

// header is added before declarations, so that they form a file. It contains no line break, so that line numbers stay
// those of the block.
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
	_, _ = config.Check("page", files, []*ast.File{file}, nil) // The returned error is the first of the collected errors.
	return errors.Join(errs...)
}

// exports returns the compiled packages with the given paths, and their dependencies.
func exports(ctx context.Context, root string, paths []string) (importer.Lookup, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	list := exec.CommandContext(
		ctx,
		"go",
		append([]string{"list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}"}, paths...)...)
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
			return nil, fmt.Errorf("package %s is unknown", path)
		}
		return os.Open(found[path])
	}, nil
}
