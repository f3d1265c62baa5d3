package generatortest

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/pkg/generator"
)

var update = flag.Bool("update", false, "overwrite the expected files of golden tests")

// Names of the files with the expected result.
const (
	expectedObjects = "expected.yaml"
	expectedError   = "expected.txt"
)

// Golden runs a sub-test for each test case in folder; see the package documentation. build returns the generator for
// the source of the case. The generator must return the expected result twice, and must not change the request.
func Golden(t *testing.T, folder string, build func(source fs.FS) (generator.Generator, error)) {
	t.Helper()
	cases, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	if len(cases) == 0 {
		t.Fatalf("%s holds no cases", folder)
	}
	for _, entry := range cases {
		t.Run(entry.Name(), func(t *testing.T) {
			place := filepath.Join(folder, entry.Name())
			request, err := ReadRequest(filepath.Join(place, "request.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			got, failure := render(t, os.DirFS(filepath.Join(place, "input")), request, build)
			if failure != "" {
				compare(t, place, expectedError, failure, expectedObjects)
				return
			}
			compare(t, place, expectedObjects, got, expectedError)
		})
	}
}

// render returns the rendered objects as YAML, or the text of the error.
func render(
	t *testing.T,
	source fs.FS,
	request Request,
	build func(source fs.FS) (generator.Generator, error),
) (string, string) {
	t.Helper()
	g, err := build(source)
	if err != nil {
		return "", err.Error() + "\n"
	}
	before := request.deepCopy()
	first, err := generate(t, g, request)
	if err != nil {
		return "", err.Error() + "\n"
	}
	second, err := generate(t, g, request)
	if err != nil {
		t.Fatalf("the second rendering fails: %v", err)
	}
	if difference := cmp.Diff(first, second); difference != "" {
		t.Errorf("the second rendering differs (-first +second):\n%s", difference)
	}
	if difference := cmp.Diff(before, request); difference != "" {
		t.Errorf("rendering changes the request (-before +after):\n%s", difference)
	}
	return first, ""
}

func generate(t *testing.T, g generator.Generator, request Request) (string, error) {
	t.Helper()
	objects, err := g.Generate(t.Context(), request.Generator())
	if err != nil {
		return "", err
	}
	return format(t, objects), nil
}

// format returns objects as a YAML stream.
func format(t testing.TB, objects []client.Object) string {
	t.Helper()
	var stream strings.Builder
	for i, object := range objects {
		text, err := yaml.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			stream.WriteString("---\n")
		}
		stream.Write(text)
	}
	return stream.String()
}

// compare compares a text with the file of the case. With the flag -update it writes the text to the file instead, and
// removes the file named other.
func compare(t *testing.T, place, file, got, other string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(filepath.Join(place, file), []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(filepath.Join(place, other)); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(filepath.Join(place, file))
	if err != nil {
		t.Fatalf("%v; the generator gave:\n%s", err, got)
	}
	if difference := cmp.Diff(string(want), got); difference != "" {
		t.Errorf("%s differs (-want +got):\n%s", file, difference)
	}
}
