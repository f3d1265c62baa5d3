package main

import (
	"fmt"
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/packages"
)

// tooLong is the number of lines above which a function counts as long.
const tooLong = 60

// lengthOfFunctions counts the lines of each function, from its first line to its closing brace.
func (c *code) lengthOfFunctions() measure {
	m := measure{name: functionMeasure, goal: "80", limit: 80}
	c.eachFunction(func(p *packages.Package, f *ast.FuncDecl) {
		m.places = append(m.places, place{linesOf(p, f), nameOfFunction(f) + ", " + c.position(p, f.Pos())})
	})
	return m
}

// longFunctions finds the functions that are long.
func (c *code) longFunctions() measure {
	m := measure{name: fmt.Sprintf("functions over %d lines", tooLong), goal: "12, all orchestration"}
	for _, p := range c.lengthOfFunctions().places {
		if p.value > tooLong {
			m.places = append(m.places, p)
		}
	}
	m.summary = fmt.Sprint(len(m.places))
	return m
}

func linesOf(p *packages.Package, f *ast.FuncDecl) int {
	return p.Fset.Position(f.End()).Line - p.Fset.Position(f.Pos()).Line + 1
}

func nameOfFunction(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) == 0 {
		return f.Name.Name
	}
	return receiver(f.Recv.List[0].Type) + "." + f.Name.Name
}

// receiver returns the name of a receiver's type without type parameters.
func receiver(of ast.Expr) string {
	switch t := of.(type) {
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.IndexListExpr:
		return receiver(t.X)
	case *ast.Ident:
		return t.Name
	}
	return "?"
}

// eachFunction calls visit for each function and method that has a body.
func (c *code) eachFunction(visit func(*packages.Package, *ast.FuncDecl)) {
	for _, p := range c.packages {
		for _, file := range p.Syntax {
			for _, declaration := range file.Decls {
				if f, ok := declaration.(*ast.FuncDecl); ok && f.Body != nil {
					visit(p, f)
				}
			}
		}
	}
}

// singleCallers finds unexported functions and methods that a single declaration uses, in another file. To understand
// the caller, a reader has to open another file. Uses in tests and in the function itself are not counted, and neither
// are calls through an interface.
func (c *code) singleCallers() measure {
	m := measure{name: "unexported functions with one caller, in another file", goal: "9 %"}
	callers := map[types.Object]map[ast.Decl]bool{}
	c.eachUse(func(_ *packages.Package, by ast.Decl, used types.Object) {
		if callers[used] == nil {
			callers[used] = map[ast.Decl]bool{}
		}
		callers[used][by] = true
	})
	type counts struct{ all, single int }
	var total counts
	byFolder := map[string]*counts{}
	c.eachFunction(func(p *packages.Package, f *ast.FuncDecl) {
		if f.Name.IsExported() || f.Name.Name == "main" || f.Name.Name == "init" {
			return
		}
		of := byFolder[c.folder(p)]
		if of == nil {
			of = &counts{}
			byFolder[c.folder(p)] = of
		}
		total.all++
		of.all++
		users := callers[p.TypesInfo.Defs[f.Name]]
		delete(users, ast.Decl(f))
		for by := range users {
			if len(users) == 1 && p.Fset.File(by.Pos()) != p.Fset.File(f.Pos()) {
				total.single++
				of.single++
			}
		}
	})
	share := 100 * float64(total.single) / float64(max(total.all, 1))
	m.summary = fmt.Sprintf("%.0f %%, %d of %d", share, total.single, total.all)
	for folder, of := range byFolder {
		if of.single > 0 {
			m.places = append(m.places, place{of.single, fmt.Sprintf("of %d in %s", of.all, folder)})
		}
	}
	return m
}

// eachUse calls visit for each object that a declaration uses. A method of an instantiated type is reported as the
// generic method.
func (c *code) eachUse(visit func(p *packages.Package, by ast.Decl, used types.Object)) {
	for _, p := range c.packages {
		for _, file := range p.Syntax {
			for _, declaration := range file.Decls {
				ast.Inspect(declaration, func(n ast.Node) bool {
					if name, ok := n.(*ast.Ident); ok {
						if used := p.TypesInfo.Uses[name]; used != nil {
							visit(p, declaration, origin(used))
						}
					}
					return true
				})
			}
		}
	}
}

func origin(o types.Object) types.Object {
	switch o := o.(type) {
	case *types.Func:
		return o.Origin()
	case *types.Var:
		return o.Origin()
	}
	return o
}
