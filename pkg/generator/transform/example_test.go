package transform_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/transform"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func pod(_ context.Context, req generator.Request) ([]client.Object, error) {
	return []client.Object{&corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Name: req.Name},
		Spec: corev1.PodSpec{ServiceAccountName: "web"},
	}}, nil
}

func show(g generator.Generator) {
	objects, err := g.Generate(context.Background(), generator.Request{Namespace: "default", Name: "demo"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, object := range objects {
		fmt.Println(object.GetName(), object.GetLabels(), object.GetAnnotations())
	}
}

// Labels sets the label of a team on all objects.
func ExampleLabels() {
	show(generator.Chain(generator.GeneratorFunc(pod), transform.Labels(map[string]string{"example.com/team": "blue"})))
	// Output: demo map[example.com/team:blue] map[]
}

// Settings of Fairlead are ordinary annotations.
func ExampleAnnotations() {
	show(
		generator.Chain(
			generator.GeneratorFunc(pod),
			transform.Annotations(map[string]string{"fairlead.io/delete-policy": "orphan"}),
		),
	)
	// Output: demo map[] map[fairlead.io/delete-policy:orphan]
}

// ServiceAccount makes pods run as an account that the platform provides.
func ExampleServiceAccount() {
	g := generator.Chain(generator.GeneratorFunc(pod), transform.ServiceAccount("web", "platform"))
	objects, err := g.Generate(context.Background(), generator.Request{Namespace: "default", Name: "demo"})
	if err != nil {
		fmt.Println(err)
		return
	}
	if manifest, ok := objects[0].(*unstructured.Unstructured); ok {
		fmt.Println(manifest.Object["spec"])
	}
	// Output: map[containers:<nil> serviceAccountName:platform]
}

// DependsOn lets the pods of a generator wait for a database that the generator does not know.
func ExampleDependsOn() {
	isPod := func(o *unstructured.Unstructured) bool { return o.GetKind() == "Pod" }
	db := manifests.Key{Group: "apps", Kind: "StatefulSet", Name: "db"}
	show(generator.Chain(generator.GeneratorFunc(pod), transform.DependsOn("fairlead.io", isPod, db)))
	// Output: demo map[] map[fairlead.io/depends-on:StatefulSet.apps db]
}
