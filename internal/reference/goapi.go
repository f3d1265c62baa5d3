package reference

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// GoAPI returns the exported names of the public packages below the given folders of a module, a line for each
// function, method, type, field, constant and variable: "path/of/package: declaration", sorted. The files of tests and
// generated deep copies are left out.
func GoAPI(root string, folders ...string) ([]string, error) {
	var lines []string
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join(root, folder), func(file string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && (entry.Name() == "internal" || entry.Name() == "testdata"):
				return fs.SkipDir
			case entry.IsDir(), !strings.HasSuffix(file, ".go"), strings.HasSuffix(file, "_test.go"),
				strings.HasPrefix(entry.Name(), "zz_generated"):
				return nil
			}
			relative, err := filepath.Rel(root, filepath.Dir(file))
			if err != nil {
				return err
			}
			declared, err := declaredIn(file)
			for _, line := range declared {
				lines = append(lines, filepath.ToSlash(relative)+": "+line)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines), nil
}

// declaredIn returns the exported declarations of a file.
func declaredIn(file string) ([]string, error) {
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, file, nil, 0)
	if err != nil {
		return nil, err
	}
	if !ast.FileExports(parsed) {
		return nil, nil
	}
	var lines []string
	for _, declaration := range parsed.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			if d.Recv != nil && !ast.IsExported(receiverOf(d)) {
				continue
			}
			d.Body = nil
			lines = append(lines, textOf(fset, d))
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				lines = append(lines, specLines(fset, d.Tok, spec)...)
			}
		}
	}
	return lines, nil
}

// specLines returns the lines of a type, of its fields and methods, or of constants and variables.
func specLines(fset *token.FileSet, kind token.Token, spec ast.Spec) []string {
	switch s := spec.(type) {
	case *ast.ValueSpec:
		var lines []string
		for _, name := range s.Names {
			lines = append(lines, kind.String()+" "+name.Name)
		}
		return lines
	case *ast.TypeSpec:
		switch t := s.Type.(type) {
		case *ast.StructType:
			return append([]string{"type " + s.Name.Name + " struct"}, members(fset, s.Name.Name, t.Fields)...)
		case *ast.InterfaceType:
			return append([]string{"type " + s.Name.Name + " interface"}, members(fset, s.Name.Name, t.Methods)...)
		default:
			return []string{"type " + textOf(fset, s)}
		}
	}
	return nil
}

// members returns a line for each field of a struct, or method of an interface.
func members(fset *token.FileSet, owner string, fields *ast.FieldList) []string {
	var lines []string
	for _, field := range fields.List {
		declared := textOf(fset, field.Type)
		if len(field.Names) == 0 {
			lines = append(lines, "embedded "+owner+"."+path.Ext("." + strings.TrimPrefix(declared, "*"))[1:]+" "+declared)
		}
		for _, name := range field.Names {
			lines = append(lines, "member "+owner+"."+name.Name+" "+strings.TrimPrefix(declared, "func"))
		}
	}
	return lines
}

// textOf returns a node as one line.
func textOf(fset *token.FileSet, node any) string {
	var text strings.Builder
	if err := format.Node(&text, fset, node); err != nil {
		return fmt.Sprint(err)
	}
	return strings.Join(strings.Fields(text.String()), " ")
}

// receiverOf returns the name of the type of a method.
func receiverOf(d *ast.FuncDecl) string {
	receiver := d.Recv.List[0].Type
	for {
		switch r := receiver.(type) {
		case *ast.StarExpr:
			receiver = r.X
		case *ast.IndexExpr:
			receiver = r.X
		case *ast.IndexListExpr:
			receiver = r.X
		case *ast.Ident:
			return r.Name
		default:
			return ""
		}
	}
}

// Vanished returns the names in the lines of an older API that the newer one has no longer, with one of their lines.
// The members and methods of a type that was removed as a whole are left out.
func Vanished(older, newer []string) map[string]string {
	missing := map[string]string{}
	for _, line := range older {
		if _, found := slices.BinarySearch(newer, line); !found {
			missing[line] = nameIn(line)
		}
	}
	types := map[string]bool{}
	for line, name := range missing {
		if pkg, declaration, _ := strings.Cut(line, ": "); strings.HasPrefix(declaration, "type ") {
			types[pkg+"."+name] = true
		}
	}
	vanished := map[string]string{}
	for line, name := range missing {
		if owner := ownerIn(line); owner == "" || !types[owner] {
			vanished[name] = line
		}
	}
	return vanished
}

// method matches the receiver of a method, or the type of a member.
var method = regexp.MustCompile(`^(?:func \(\w* ?\*?(\w+)|(?:member|embedded) (\w+)\.)`)

// ownerIn returns the package and the type that a member or method in a line belongs to, such as pkg/component.Options.
func ownerIn(line string) string {
	pkg, declaration, _ := strings.Cut(line, ": ")
	found := method.FindStringSubmatch(declaration)
	if found == nil {
		return ""
	}
	return pkg + "." + cmp.Or(found[1], found[2])
}

// nameIn returns the declared name in a line.
func nameIn(line string) string {
	_, declaration, _ := strings.Cut(line, ": ")
	kind, rest, _ := strings.Cut(declaration, " ")
	if kind == "func" && strings.HasPrefix(rest, "(") {
		_, rest, _ = strings.Cut(rest, ") ")
	}
	name := strings.FieldsFunc(rest, func(r rune) bool { return strings.ContainsRune(" ([", r) })[0]
	return name[strings.LastIndex(name, ".")+1:]
}
