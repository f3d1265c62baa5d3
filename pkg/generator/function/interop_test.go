package function_test

import (
	"net/http"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/fn/framework"
	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/function"
)

// A function that is written with the library of the specification works without any code of this repository.
func TestAFunctionOfTheSpecificationsLibraryIsUnderstood(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		var config struct {
			Metadata struct{ Name string }                       `yaml:"metadata"`
			Spec     struct{ Parameters struct{ Ratio string } } `yaml:"spec"`
		}
		process := framework.SimpleProcessor{
			Config: &config,
			Filter: kio.FilterFunc(func(items []*yaml.RNode) ([]*yaml.RNode, error) {
				made := yaml.MustParse(
					"{apiVersion: v1, kind: ConfigMap, metadata: {name: " +
						"" + config.Metadata.Name + "}, data: {ratio: '" + config.Spec.Parameters.Ratio + "'}}",
				)
				return append(items, made), nil
			}),
		}
		err := framework.Execute(process, &kio.ByteReadWriter{Reader: r.Body, Writer: w, KeepReaderAnnotations: true})
		if err != nil {
			t.Error(err)
		}
	})
	objects, err := generate(
		t,
		function.Service{URL: url, Items: []generator.Reference{zones, db}},
		function.Options{},
		request(),
	)
	if err != nil {
		t.Fatal(err)
	}
	if len(objects) != 1 || objects[0].GetName() != "store" || len(objects[0].GetAnnotations()) != 0 {
		t.Errorf("got %v", objects)
	}
}
