package kustomize_test

import (
	"bytes"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/kustomize"
)

// The label has the version of the program kustomize of the same release as the library.
func TestTheLabelOfKustomizeIsThatOfItsProgram(t *testing.T) {
	tools, err := os.ReadFile(filepath.Join("..", "..", "..", "test", "tools", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	released := regexp.MustCompile(`sigs\.k8s\.io/kustomize/kustomize/v5 (v\S+)`).FindSubmatch(tools)
	g, err := kustomize.New(sourceOf(map[string]string{
		"kustomization.yaml": "resources: [a.yaml]\nbuildMetadata: [managedByLabel]\nlabels: [{pairs: {team: blue}}]\n",
		"a.yaml":             configMap,
	}), kustomize.Options{})
	if err != nil {
		t.Fatal(err)
	}
	objects, err := g.Generate(t.Context(), generator.Request{})
	if err != nil {
		t.Fatal(err)
	}
	label := objects[0].GetLabels()["app.kubernetes.io/managed-by"]
	if label != "kustomize-"+string(released[1]) || len(validation.IsValidLabelValue(label)) > 0 {
		t.Errorf("the label is %q, and the program has the version %s", label, released[1])
	}
	if objects[0].GetLabels()["team"] != "blue" {
		t.Error("the other labels were removed")
	}
}

func TestTheOrderOfObjects(t *testing.T) {
	files := map[string]string{
		"a.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: s}\n",
		"b.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n",
		"c.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: n}\n",
	}
	const resources = "resources: [a.yaml, b.yaml, c.yaml]\n"
	cases := map[string]struct {
		sorting string
		options kustomize.Options
		want    []string
	}{
		"the files":       {"", kustomize.Options{}, []string{"s", "c", "n"}},
		"kustomize build": {"", kustomize.Options{LegacyOrder: true}, []string{"n", "c", "s"}},
		"sortOptions":     {"sortOptions: {order: legacy}\n", kustomize.Options{}, []string{"n", "c", "s"}},
		"sortOptions before the default": {
			"sortOptions: {order: fifo}\n",
			kustomize.Options{LegacyOrder: true},
			[]string{"s", "c", "n"},
		},
	}
	var printed bytes.Buffer
	log.SetOutput(&printed)
	defer log.SetOutput(os.Stderr)
	for name, c := range cases {
		files["kustomization.yaml"] = resources + c.sorting
		g, err := kustomize.New(sourceOf(files), c.options)
		if err != nil {
			t.Fatal(err)
		}
		objects, err := g.Generate(t.Context(), generator.Request{})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, object := range objects {
			names = append(names, object.GetName())
		}
		if !slices.Equal(names, c.want) {
			t.Errorf("%s: got %v", name, names)
		}
	}
	if printed.Len() > 0 {
		t.Errorf("the library printed %q", &printed)
	}
}
