package templating

import (
	"errors"
	"maps"
	"reflect"
	"text/template"

	"github.com/Masterminds/sprig/v3"

	"github.com/fairlead-io/fairlead/pkg/generator"
)

// tableOf returns the template functions of a session; docs/generators/functions.md describes them. The functions in
// the options replace functions of the same name. With a nil session the functions cannot be called; the parser needs
// only their names and types.
func tableOf(options Options, s *session) template.FuncMap {
	functions := sprig.TxtFuncMap()
	// These functions read from the machine and the network of the operator.
	for _, name := range []string{"env", "expandenv", "getHostByName"} {
		delete(functions, name)
	}
	functions["required"] = required
	functions["keys"], functions["values"] = sortedKeys, sortedValues
	functions["eq"], functions["ne"] = eq, ne
	maps.Copy(functions, addressFunctions())
	maps.Copy(functions, s.clockFunctions())
	maps.Copy(functions, s.keyFunctions())
	maps.Copy(functions, s.requestFunctions())
	paying := s.payingFunctions()
	maps.Copy(functions, paying)
	if options.Chart {
		own := s.chartFunctions()
		maps.Copy(functions, own)
		maps.Copy(paying, own)
		maps.DeleteFunc(functions, func(name string, _ any) bool { return !chartHas(name) })
	}
	maps.Copy(functions, options.Functions)
	noteCalls(functions, options.Functions, func() { s.Budget.varies = true })
	s.guardAll(functions, paying, options.Functions)
	return functions
}

// payingFunctions returns the functions that charge the size of their result to the budget before they compute it. The
// results of all other functions are charged afterwards.
func (s *session) payingFunctions() template.FuncMap {
	functions := template.FuncMap{"include": s.include, "tpl": s.tpl}
	maps.Copy(functions, s.encodings())
	maps.Copy(functions, s.growing())
	maps.Copy(functions, s.writing())
	maps.Copy(functions, s.copying())
	maps.Copy(functions, s.changing())
	return functions
}

// export returns the value of an export, and an empty text if the export has no value yet.
func (s *session) export(name string) any {
	if value, ok := s.Request.Exports.Value(name); ok {
		return value
	}
	return ""
}

// input returns the value of an event source, and nil if the source has no value for the component.
func (s *session) input(name string) any { return s.Request.Inputs[name] }

// requestFunctions returns the functions that read the request, look up objects, and read files of the source.
func (s *session) requestFunctions() template.FuncMap {
	target := s.target()
	local := cluster{session: s, of: func(req generator.Request) generator.Lookup { return req.Local }}
	return template.FuncMap{
		countedFunction:   func(v reflect.Value) (reflect.Value, error) { return s.Budget.counted(v) },
		printableFunction: func(v reflect.Value) (reflect.Value, error) { return s.Budget.printable(v) },

		"lookup":          target.lookup,
		"mustLookup":      target.mustLookup,
		"lookupList":      target.lookupList,
		"localLookup":     local.lookup,
		"mustLocalLookup": local.mustLookup,
		"localLookupList": local.lookupList,

		"export": s.export,
		"input":  s.input,

		"readFile":   func(name string) (string, error) { return s.Files.read(name) },
		"existsFile": func(name string) (bool, error) { return s.Files.exists(name) },
		"listFiles":  func(pattern string) ([]string, error) { return s.Files.list(pattern) },

		"name":              func() string { return s.Request.Name },
		"namespace":         func() string { return s.Request.Namespace },
		"revision":          func() int64 { return s.Request.Revision },
		"digest":            func() string { return s.Request.Digest },
		"kubernetesVersion": func() kubeVersion { return kubeVersionOf(s.Request.Capabilities) },
		"apiResources":      func() []any { return apiResources(s.Request.Capabilities) },
	}
}

func required(message string, value any) (any, error) {
	if value == nil || value == "" {
		return nil, errors.New(message)
	}
	return value, nil
}
