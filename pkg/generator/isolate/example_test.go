package isolate_test

import (
	"context"
	"net/http"
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/gotemplate"
	"github.com/fairlead-io/fairlead/pkg/generator/isolate"
)

// templates returns the generator of a program that renders the sources of its components, and a scheme with their
// type.
func templates() (generator.Generator, *runtime.Scheme, error) {
	g, err := gotemplate.New(nil, gotemplate.Options{})
	return g, clientgoscheme.Scheme, err
}

// The function main of a program that renders in child processes.
func ExampleMain() {
	isolate.Main(templates) // does not return in a child
	inner, scheme, err := templates()
	if err != nil {
		os.Exit(1)
	}
	g, err := isolate.New(inner, isolate.Options{Scheme: scheme, Memory: 256 << 20})
	if err != nil {
		os.Exit(1)
	}
	defer g.Close()
	// g is the generator of component.NewReconciler.
}

// Two children with 256 MiB each.
func ExampleNew() {
	inner, scheme, err := templates()
	if err != nil {
		return
	}
	g, err := isolate.New(inner, isolate.Options{Scheme: scheme, Processes: 2, Memory: 256 << 20})
	if err != nil {
		return
	}
	defer g.Close()
}

// A generator that needs the network, as a part of a generator that runs in a child. The parent has the same generator
// in Options.Outside.
func ExampleOutside() {
	fetch := generator.GeneratorFunc(func(ctx context.Context, _ generator.Request) ([]client.Object, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://settings.example.com", http.NoBody)
		if err != nil {
			return nil, err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return nil, err
		}
		settings := &corev1.ConfigMap{Data: map[string]string{"status": response.Status}}
		return []client.Object{settings}, response.Body.Close()
	})
	isolate.Main(func() (generator.Generator, *runtime.Scheme, error) {
		return generator.Chain(isolate.Outside("settings", fetch)), clientgoscheme.Scheme, nil
	})
	g, err := isolate.New(generator.Chain(fetch), isolate.Options{
		Scheme: clientgoscheme.Scheme, Outside: map[string]generator.Generator{"settings": fetch},
	})
	if err != nil {
		return
	}
	defer g.Close()
}
