package main

import (
	"go/ast"
	"go/types"
	"regexp"
	"strings"

	"golang.org/x/tools/go/packages"
)

// methodsOfTypes counts the methods of each type that has fields or a value, including the methods of embedded types of
// this repository. So a type cannot reduce its number of methods by embedding its parts. Methods in generated files are
// not counted.
func (c *code) methodsOfTypes() measure {
	m := measure{name: methodsMeasure, goal: "20", limit: 20}
	c.eachType(func(p *packages.Package, name *types.TypeName) {
		if types.IsInterface(name.Type()) {
			return
		}
		set := types.NewMethodSet(types.NewPointer(name.Type()))
		count := 0
		for method := range set.Methods() {
			if c.isWritten(method.Obj()) {
				count++
			}
		}
		m.places = append(m.places, place{count, c.nameOf(p, name)})
	})
	return m
}

// fieldsOfStructs counts the fields of each struct with behaviour.
//
// API and plain data are excluded. API are the types in the folder api, and exported structs outside of internal
// packages whose fields are all exported, such as options. Plain data has only methods that compare, print, encode or
// copy values (see plainMethods), and none of its fields is a lock, an atomic value, a channel, a function or an
// interface.
func (c *code) fieldsOfStructs() measure {
	m := measure{name: fieldsMeasure, goal: "14", limit: 14}
	c.eachType(func(p *packages.Package, name *types.TypeName) {
		s, ok := name.Type().Underlying().(*types.Struct)
		if !ok || c.isAPI(p, name, s) || isPlainData(name, s) {
			return
		}
		m.places = append(m.places, place{s.NumFields(), c.nameOf(p, name)})
	})
	return m
}

// plainMethods are the names of methods that plain data may have: the methods of common interfaces.
var plainMethods = regexp.MustCompile(
	`^(String|GoString|Error|Unwrap|Is|As|Format|Len|Less|Swap|Equal|Compare|IsZero|DeepCopy.*|Marshal.*|Unmarshal.*)$`)

func (c *code) isAPI(p *packages.Package, name *types.TypeName, s *types.Struct) bool {
	folder := "/" + c.folder(p) + "/"
	if strings.HasPrefix(folder, "/api/") {
		return true
	}
	if !name.Exported() || strings.Contains(folder, "/internal/") || p.Name == "main" {
		return false
	}
	for field := range s.Fields() {
		if !field.Exported() {
			return false
		}
	}
	return true
}

func isPlainData(name *types.TypeName, s *types.Struct) bool {
	if hasBehaviour(name) {
		return false
	}
	for field := range s.Fields() {
		if isActive(field.Type()) {
			return false
		}
	}
	return true
}

// hasBehaviour reports whether a type declares a method that is not one of plainMethods.
func hasBehaviour(name *types.TypeName) bool {
	named, ok := name.Type().(*types.Named)
	if !ok {
		return false
	}
	for method := range named.Methods() {
		if !plainMethods.MatchString(method.Name()) {
			return true
		}
	}
	return false
}

// isActive reports whether a field of the given type makes a struct more than plain data. Errors and values of type any
// do not.
func isActive(t types.Type) bool {
	if _, ok := types.Unalias(t).(*types.TypeParam); ok {
		return false
	}
	switch u := t.Underlying().(type) {
	case *types.Signature, *types.Chan:
		return true
	case *types.Interface:
		return !u.Empty() && !types.Identical(t, types.Universe.Lookup("error").Type())
	case *types.Pointer:
		return isLock(u.Elem())
	}
	return isLock(t)
}

func isLock(t types.Type) bool {
	named, ok := types.Unalias(t).(*types.Named)
	if !ok || named.Obj().Pkg() == nil {
		return false
	}
	path := named.Obj().Pkg().Path()
	return path == "sync" || path == "sync/atomic"
}

// eachType calls visit for each type that the files of packages declare, except types inside functions.
func (c *code) eachType(visit func(*packages.Package, *types.TypeName)) {
	for _, p := range c.packages {
		for _, file := range p.Syntax {
			for _, declaration := range file.Decls {
				for _, name := range typesOf(p, declaration) {
					visit(p, name)
				}
			}
		}
	}
}

func typesOf(p *packages.Package, declaration ast.Decl) []*types.TypeName {
	general, ok := declaration.(*ast.GenDecl)
	if !ok {
		return nil
	}
	var names []*types.TypeName
	for _, spec := range general.Specs {
		s, ok := spec.(*ast.TypeSpec)
		if !ok {
			continue
		}
		if name, ok := p.TypesInfo.Defs[s.Name].(*types.TypeName); ok && !name.IsAlias() {
			names = append(names, name)
		}
	}
	return names
}

func (c *code) nameOf(p *packages.Package, name *types.TypeName) string {
	return p.Name + "." + name.Name() + ", " + c.position(p, name.Pos())
}

// isWritten reports whether an object is declared in a file of this repository that is not generated.
func (c *code) isWritten(o types.Object) bool {
	if o.Pkg() == nil {
		return false
	}
	for _, p := range c.packages {
		if p.Types != o.Pkg() {
			continue
		}
		for _, file := range p.Syntax {
			if file.FileStart <= o.Pos() && o.Pos() < file.FileEnd {
				return true
			}
		}
	}
	return false
}
