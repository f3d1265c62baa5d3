package generator_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

func show(g generator.Generator, parameters map[string]any) {
	objects, err := g.Generate(context.Background(), generator.Request{
		Namespace: "default", Name: "demo",
		Parameters: parameters,
	})
	if err != nil {
		fmt.Println("error:", err)
		return
	}
	for _, object := range objects {
		fmt.Println(object.GetName(), object.GetLabels())
	}
}

// named returns a generator of one ConfigMap. A real generator may be a chart, a kustomization or Go code.
func named(name string) generator.Generator {
	return generator.GeneratorFunc(func(_ context.Context, req generator.Request) ([]client.Object, error) {
		return []client.Object{&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: req.Name + "-" + name}}}, nil
	})
}

// A generator can be a function that returns typed objects.
func ExampleGeneratorFunc() {
	g := generator.GeneratorFunc(func(_ context.Context, req generator.Request) ([]client.Object, error) {
		level, _ := req.Parameters["level"].(string)
		return []client.Object{&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: req.Name, Labels: map[string]string{"level": level}},
		}}, nil
	})
	show(g, map[string]any{"level": "info"})
	// Output: demo map[level:info]
}

// A transformer receives all rendered objects.
func ExampleChain() {
	count := generator.TransformerFunc(func(_ context.Context, _ generator.Request,
		objects []*unstructured.Unstructured,
	) ([]*unstructured.Unstructured, error) {
		for i, object := range objects {
			object.SetLabels(map[string]string{"number": fmt.Sprintf("%d of %d", i+1, len(objects))})
		}
		return objects, nil
	})
	both := generator.Merge(generator.Part{Name: "first", Generator: named("a")},
		generator.Part{Name: "second", Generator: named("b")})
	show(generator.Chain(both, count), nil)
	// Output:
	// demo-a map[number:1 of 2]
	// demo-b map[number:2 of 2]
}

// A parameter transformer can translate or add parameters before a chart receives them.
func ExampleWithParameters() {
	size := generator.ParameterTransformerFunc(func(_ context.Context, req generator.Request) (map[string]any, error) {
		if req.Parameters["size"] == "large" {
			req.Parameters["replicas"] = int64(5)
		}
		return req.Parameters, nil
	})
	g := generator.GeneratorFunc(func(_ context.Context, req generator.Request) ([]client.Object, error) {
		return []client.Object{&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("replicas-",
			req.Parameters["replicas"])}}}, nil
	})
	show(generator.WithParameters(g, size), map[string]any{"size": "large"})
	// Output: replicas-5 map[]
}

// Merge returns an error if two parts render the same object.
func ExampleMerge() {
	show(generator.Merge(
		generator.Part{Name: "the chart", Generator: named("settings")},
		generator.Part{Name: "our additions", Generator: named("settings")},
	), nil)
	// Output:
	// error: ConfigMap demo-settings is rendered twice, by the chart and by our additions; render it only once
}

// A parameter selects the database. Without the parameter no database is deployed.
func ExampleSwitch() {
	g := generator.Switch(map[string]generator.Generator{
		"postgres": named("postgres"),
		"mysql":    named("mysql"),
		"":         generator.Merge(),
	}, "database", "kind")
	show(g, map[string]any{"database": map[string]any{"kind": "mysql"}})
	show(g, nil)
	show(g, map[string]any{"database": map[string]any{"kind": "oracle"}})
	// Output:
	// demo-mysql map[]
	// error: parameter database.kind: there is no "oracle"; want one of mysql, postgres
}

// A generator renders the objects that need a value when the value is known. The first rendering does not know it.
func ExampleNewExports() {
	g := generator.GeneratorFunc(func(_ context.Context, req generator.Request) ([]client.Object, error) {
		host, ok := req.Exports.Value("dbHost")
		if !ok {
			return nil, nil
		}
		return []client.Object{&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: "web"}, Data: map[string]string{"host": fmt.Sprint(host)},
		}}, nil
	})
	for _, values := range []map[string]any{nil, {"dbHost": "10.0.0.7"}} {
		objects, err := g.Generate(context.Background(), generator.Request{Exports: generator.NewExports(values)})
		fmt.Println(len(objects), err)
	}
	// Output:
	// 0 <nil>
	// 1 <nil>
}

// A command renders a component with the values that its operator used last.
func ExampleExportsOf() {
	status := &metav1alpha1.Status{AskedExports: []string{`dbHost="10.0.0.7"`, "zone"}}
	exports := generator.ExportsOf(status)
	fmt.Println(exports.Value("dbHost"))
	fmt.Println(exports.Value("zone"))
	// Output:
	// 10.0.0.7 true
	// <nil> false
}
