package generator

import (
	"context"
	"encoding/json"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	kjson "sigs.k8s.io/json"
)

// For adapts a function that gets the component as its Go type, such as *WebPage, to a Generator. The function must
// hold the contract of Generator.Generate. It must not change the component, and must not use its status, which is no
// input of the rendering. A component of another type, or none, is an error. The function is not called if ctx has
// ended.
func For[T client.Object](generate func(ctx context.Context, component T, req Request) ([]client.Object, error)) Generator {
	return GeneratorFunc(func(ctx context.Context, req Request) ([]client.Object, error) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		component, ok := req.Component.(T)
		if !ok {
			return nil, fmt.Errorf("the component is a %T, and this generator renders components of type %T",
				req.Component, component)
		}
		return generate(ctx, component, req)
	})
}

// InputAs returns the value of an event source that is an input, converted as by JSON. V is the type that the source
// returned, and a list of it for a source of related objects: with a Part that returns ConfigMap.Data, V is
// []map[string]string. found is false if the component has no value. The error names the source if the value does not
// fit the type.
func InputAs[V any](req Request, source string) (value V, found bool, err error) {
	plain, found := req.Inputs[source]
	if !found {
		return value, false, nil
	}
	text, err := json.Marshal(plain)
	if err == nil {
		err = kjson.UnmarshalCaseSensitivePreserveInts(text, &value)
	}
	if err != nil {
		var none V
		return none, false, fmt.Errorf("input %s is no %T: %w", source, none, err)
	}
	return value, true, nil
}
