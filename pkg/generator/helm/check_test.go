package helm_test

import (
	"testing"
	"testing/fstest"

	"k8s.io/apimachinery/pkg/version"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/generatortest"
	"github.com/fairlead-io/fairlead/pkg/generator/helm"
)

func TestAReconcilerCanRelyOnIt(t *testing.T) {
	g, err := helm.New(fstest.MapFS{
		"Chart.yaml":  {Data: []byte("{apiVersion: v2, name: a, version: 1.0.0}")},
		"values.yaml": {Data: []byte("map: {c: 3}")},
		"templates/a.yaml": {
			Data: []byte(
				`{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: '{{ range $key, $value := .Values.map }}{{ $key }}{{ end }}'}}`,
			),
		},
		"templates/b.yaml": {
			Data: []byte(
				`{apiVersion: v1, kind: ConfigMap, metadata: {name: b}, data: {x: '{{ set .Values "other" "changed" | len }} {{ len (lookup "v1" "Pod" "" "a") }}'}}`,
			),
		},
		"templates/c.yaml": {
			Data: []byte(
				`{apiVersion: batch/v1, kind: Job, metadata: {name: c, annotations: {helm.sh/hook: "pre-install,pre-upgrade"}}}`,
			),
		},
	}, helm.Options{AnnotationPrefix: "fairlead.io"})
	if err != nil {
		t.Fatal(err)
	}
	request := func(name string) generator.Request {
		return generator.Request{
			Namespace: "apps", Name: name, Parameters: map[string]any{"map": map[string]any{"a": int64(1), "b": name}},
			Revision: 1, Target: generatortest.Lookup{},
			Capabilities: generator.Capabilities{Version: version.Info{Major: "1", Minor: "36", GitVersion: "v1.36.3"}},
		}
	}
	generatortest.Check(t, g, generatortest.Options{Reconciler: "fairlead.io"}, request("a"), request("b"))
}
