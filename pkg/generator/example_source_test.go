package generator_test

import (
	"context"
	"fmt"
	"testing/fstest"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/generator"
)

func ExampleDetect() {
	for _, file := range []string{"Chart.yaml", "kustomization.yaml", "configmap.yaml"} {
		fmt.Println(generator.Detect(fstest.MapFS{file: {Data: []byte("{}")}}))
	}
	// Output:
	// Helm <nil>
	// Kustomize <nil>
	// GoTemplate <nil>
}

// noting is a generator that has notes for the user.
type noting struct{}

func (noting) Generate(context.Context, generator.Request) ([]client.Object, error) { return nil, nil }

func (noting) Notes(_ context.Context, req generator.Request) (string, error) {
	return req.Name + " is at http://" + req.Name + ".example.com", nil
}

func ExampleNotesOf() {
	fmt.Println(generator.NotesOf(context.Background(), noting{}, generator.Request{Name: "shop"}))
	// Output: shop is at http://shop.example.com <nil>
}

// marked is a generator with a version.
type marked struct{ noting }

func (marked) Version() string { return "v2" }

func ExampleVersionOf() {
	fmt.Printf("%q %q\n", generator.VersionOf(marked{}), generator.VersionOf(noting{}))
	// Output: "v2" ""
}
