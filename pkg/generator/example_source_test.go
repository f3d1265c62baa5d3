package generator_test

import (
	"context"
	"fmt"
	"testing/fstest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

func (noting) Generate(_ context.Context, req generator.Request) ([]client.Object, error) {
	req.Noted(req.Name + " is at http://" + req.Name + ".example.com")
	return nil, nil
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

// plain is a generator whose objects depend on nothing but its names.
type plain struct{ names []string }

func (p plain) Generate(context.Context, generator.Request) ([]client.Object, error) {
	objects := make([]client.Object, 0, len(p.names))
	for _, name := range p.names {
		objects = append(objects, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	return objects, nil
}

func (p plain) Prove(ctx context.Context, req generator.Request) ([]client.Object, bool, error) {
	objects, err := p.Generate(ctx, req)
	return objects, true, err
}

func ExampleProve() {
	for _, g := range []generator.Generator{plain{names: []string{"a", "b"}}, noting{}} {
		objects, proven, err := generator.Prove(context.Background(), g, generator.Request{})
		fmt.Println(len(objects), proven, err)
	}
	// Output:
	// 2 true <nil>
	// 0 false <nil>
}
