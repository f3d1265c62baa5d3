package gotemplate_test

import (
	"testing"
	"testing/fstest"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/generatortest"
	"github.com/fairlead-io/fairlead/pkg/generator/gotemplate"
)

func TestAReconcilerCanRelyOnIt(t *testing.T) {
	g, err := gotemplate.New(fstest.MapFS{
		"a.yaml": {
			Data: []byte(
				`{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: '{{ range $key, $value := .Values.map }}{{ $key }}{{ end }}'}}`,
			),
		},
		"b.yaml": {
			Data: []byte(
				`{apiVersion: v1, kind: ConfigMap, metadata: {name: b}, data: {x: '{{ set .Values "other" "changed" | len }} {{ len (lookup "v1" "Pod" "" "a") }}'}}`,
			),
		},
	}, options)
	if err != nil {
		t.Fatal(err)
	}
	request := func(name string) generator.Request {
		return generator.Request{
			Namespace: "apps", Name: name, Parameters: map[string]any{"map": map[string]any{"a": int64(1), "b": name}},
			Target: generatortest.Lookup{},
		}
	}
	generatortest.Check(t, g, generatortest.Options{}, request("a"), request("b"))
}
