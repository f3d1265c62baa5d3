package templating

import (
	"errors"
	"maps"
	"reflect"
	"text/template"

	"github.com/Masterminds/sprig/v3"

	"github.com/fairlead-io/fairlead/pkg/generator"
)

// tableOf returns the template functions of a session; docs/reference/functions.md describes them. The functions in
// the options replace functions of the same name. With a nil session the functions cannot be called; the parser needs
// only their names and types.
func tableOf(options Options, s *session) template.FuncMap {
	if s == nil {
		s = &session{}
	}
	functions, in := sprig.TxtFuncMap(), &s.Input
	// These functions read from the machine and the network of the operator.
	for _, name := range []string{"env", "expandenv", "getHostByName"} {
		delete(functions, name)
	}
	functions["required"] = required
	functions["keys"], functions["values"] = sortedKeys, sortedValues
	functions["eq"], functions["ne"] = eq, ne
	maps.Copy(functions, addressFunctions())
	maps.Copy(functions, clock{in}.functions())
	maps.Copy(functions, keys{in}.functions())
	maps.Copy(functions, request{in}.functions())
	paying := payingFunctions(options, s)
	maps.Copy(functions, paying)
	if options.Chart {
		own := s.chartFunctions()
		maps.Copy(functions, own)
		maps.Copy(paying, own)
		maps.DeleteFunc(functions, func(name string, _ any) bool { return !chartHas(name) })
	}
	maps.Copy(functions, options.Functions)
	noteCalls(functions, options.Functions, func() { in.Budget.varies = true })
	argumentCosts{in}.chargeAll(functions, paying, options.Functions)
	return functions
}

// payingFunctions returns the functions that charge the size of their result to the budget before they compute it. The
// results of all other functions are charged afterwards.
func payingFunctions(options Options, s *session) template.FuncMap {
	functions, in := template.FuncMap{"include": s.include, "tpl": s.tpl}, &s.Input
	maps.Copy(functions, encodings{in}.functions())
	maps.Copy(functions, growing{in}.functions())
	maps.Copy(functions, writing{in}.functions())
	maps.Copy(functions, writing{in}.copying())
	maps.Copy(functions, changing{in, options.Chart}.functions())
	return functions
}

// request are the template functions that read the request, look up objects, and read files of the source.
type request struct{ in *Input }

// export returns the value of an export, and an empty text if the export has no value yet.
func (r request) export(name string) any {
	if value, ok := r.in.Request.Exports.Value(name); ok {
		return value
	}
	return ""
}

// input returns the value of an event source, and nil if the source has no value for the component.
func (r request) input(name string) any { return r.in.Request.Inputs[name] }

// functions returns the functions.
func (r request) functions() template.FuncMap {
	target := targetOf(r.in)
	local := cluster{in: r.in, of: func(req generator.Request) generator.Lookup { return req.Local }}
	return template.FuncMap{
		countedFunction:   func(v reflect.Value) (reflect.Value, error) { return r.in.Budget.counted(v) },
		printableFunction: func(v reflect.Value) (reflect.Value, error) { return r.in.Budget.printable(v) },

		"lookup":          target.lookup,
		"mustLookup":      target.mustLookup,
		"lookupList":      target.lookupList,
		"localLookup":     local.lookup,
		"mustLocalLookup": local.mustLookup,
		"localLookupList": local.lookupList,

		"export": r.export,
		"input":  r.input,

		"readFile":   func(name string) (string, error) { return r.in.Files.read(name) },
		"existsFile": func(name string) (bool, error) { return r.in.Files.exists(name) },
		"listFiles":  func(pattern string) ([]string, error) { return r.in.Files.list(pattern) },

		"name":              func() string { return r.in.Request.Name },
		"namespace":         func() string { return r.in.Request.Namespace },
		"revision":          func() int64 { return r.in.Request.Revision },
		"digest":            func() string { return r.in.Request.Digest },
		"kubernetesVersion": func() kubeVersion { return kubeVersionOf(r.in.Request.Capabilities) },
		"apiResources":      func() []any { return apiResources(r.in.Request.Capabilities) },
	}
}

func required(message string, value any) (any, error) {
	if value == nil || value == "" {
		return nil, errors.New(message)
	}
	return value, nil
}
