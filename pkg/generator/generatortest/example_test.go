package generatortest_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/generatortest"
	"github.com/fairlead-io/fairlead/pkg/generator/gotemplate"
)

// The test of a generator is one line, with the requests to check.
func ExampleCheck() {
	test := func(t *testing.T, myGenerator generator.Generator) {
		generatortest.Check(t, myGenerator, generatortest.Options{},
			generator.Request{Name: "shop", Namespace: "apps", Parameters: map[string]any{"replicas": int64(2)}},
			generator.Request{Name: "empty", Namespace: "apps"},
		)
	}
	_ = test
}

// Each case in testdata contains the input of the generator and the expected output.
func ExampleGolden() {
	test := func(t *testing.T) {
		generatortest.Golden(t, "testdata", func(source fs.FS) (generator.Generator, error) {
			return gotemplate.New(source, gotemplate.Options{})
		})
	}
	_ = test
}

func ExampleReadRequest() {
	folder, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(folder) }()
	file := filepath.Join(folder, "request.yaml")
	if err := os.WriteFile(file, []byte("name: shop\nparameters: {replicas: 2}\n"), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	request, err := generatortest.ReadRequest(file)
	fmt.Println(request.Generator().Name, request.Parameters["replicas"], err)
	// Output: shop 2 <nil>
}

// WithSource is for a generator that reads the source in its request.
func ExampleWithSource() {
	reads := generator.GeneratorFunc(func(_ context.Context, req generator.Request) ([]client.Object, error) {
		content, err := fs.ReadFile(req.Source, "motd.txt")
		return []client.Object{&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: req.Name},
			Data:       map[string]string{"motd": string(content)},
		}}, err
	})
	g := generatortest.WithSource(reads, fstest.MapFS{"motd.txt": {Data: []byte("Ahoy")}}, "digest")
	objects, err := g.Generate(context.Background(), generator.Request{Name: "shop"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(objects[0].GetName(), err)
	// Output: shop <nil>
}
