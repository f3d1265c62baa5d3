package reference_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/reference"
)

const promisesFile = "internal/reference/promises.yaml"

func TestReferenceOfPromises(t *testing.T) {
	specs, err := reference.ReadSpecs(reference.Root(t), "cmd", "test")
	if err != nil {
		t.Fatal(err)
	}
	groups, err := reference.Promises(filepath.Join(reference.Root(t), promisesFile))
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	out.WriteString("# Promises and their specs\n\n" +
		"A spec is a test that runs on a real API server. For each promise, the tables link the files of the specs that\n" +
		"prove it. Most files are in [test/conformance](../../test/conformance).\n" +
		"[promises.yaml](../../internal/reference/promises.yaml) has the titles of the specs.\n" +
		"`go test ./test/conformance -ginkgo.focus 'title of the spec'` runs a single spec. `make mutations` inserts\n" +
		"defects into the code that writes and observes dependents and makes calls about externals, and prints the spec\n" +
		"that detects each defect.\n")
	for _, group := range groups {
		var rows [][]string
		for _, p := range group.Promises {
			files, err := p.Files(specs)
			if err != nil {
				t.Errorf("%v; correct %s", err, promisesFile)
			}
			rows = append(rows, []string{p.Promise, links(files)})
		}
		out.WriteString("\n## " + group.Group + "\n\n" + strings.TrimSpace(group.About) + "\n\n" +
			reference.Table([]string{"promise", "specs"}, rows))
	}
	if !t.Failed() {
		reference.Check(t, "promises.md", out.String())
	}
}

// links returns links from docs/reference to test files. The texts lack the folder of the conformance tests.
func links(files []string) string {
	texts := make([]string, len(files))
	for i, file := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(file, "test/conformance/"), "_test.go")
		texts[i] = "[" + name + "](../../" + file + ")"
	}
	return strings.Join(texts, ", ")
}

func TestPromisesAreShortAndHaveSpecs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "promises.yaml")
	for content, valid := range map[string]bool{
		"promise: a b\n    specs: [works]\n": true,
		"promise: a b\n":                     false,
		"promise: " + strings.Repeat("word ", 26) + "\n    specs: [works]\n":     false,
		"promise: a b\n    specs: [works]\n    remark: fields are compared\n":    false,
		"promise: " + strings.Repeat("word ", 25) + "\n    specs: [works]\n":     true,
		"promise: a b\n    specs: []\n  - promise: a c\n    specs: [works]\n":    false,
		"promise: a b\n    specs: [fails]\n  - promise: c\n    specs: [works]\n": true,
	} {
		if err := os.WriteFile(path, []byte("- group: A\n  about: B\n  promises:\n  - "+content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := reference.Promises(path); (err == nil) != valid {
			t.Errorf("%s: %v", content, err)
		}
	}
}

const testFile = `package a
var _ = Describe("The operator", func() {
	It("works", func() { Expect("a", "b") })
	Context("without rights", func() {
		It("fails "+
			"at once", func() {})
		DescribeTable("waits", func() {}, Entry("for a Job", 1))
		DescribeTable("stops", func() {}, entries)
		It(computed, func() {})
	})
	It(fmt.Sprintf("works %d times with %s", n, name), func() {})
	It(name + ": fails (always)", func() {})
})
func TestUnit(t *testing.T) {}
`

func writeSpecs(t *testing.T) reference.Specs {
	t.Helper()
	folder := t.TempDir()
	for _, name := range []string{"test/a_test.go", "test/b/b_test.go", "cmd/c.go"} {
		path, content := filepath.Join(folder, filepath.FromSlash(name)), testFile
		if name == "test/b/b_test.go" {
			content = "package b\nvar _ = It(\"works alone\", func() {})\n"
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	specs, err := reference.ReadSpecs(folder, "cmd", "test")
	if err != nil {
		t.Fatal(err)
	}
	return specs
}

func TestSpecsAreFoundWithTheirContainers(t *testing.T) {
	var got []string
	for _, spec := range writeSpecs(t) {
		got = append(got, spec.File+": "+spec.Title)
	}
	want := []string{
		"test/a_test.go: TestUnit", "test/a_test.go: The operator works",
		"test/a_test.go: The operator without rights fails at once",
		"test/a_test.go: The operator without rights waits for a Job",
		"test/a_test.go: The operator without rights stops …",
		"test/a_test.go: The operator works … times with …", "test/a_test.go: The operator …: fails (always)",
		"test/b/b_test.go: works alone",
	}
	if difference := cmp.Diff(want, got); difference != "" {
		t.Error(difference)
	}
}

func TestTitlesNameFiles(t *testing.T) {
	specs, one := writeSpecs(t), []string{"test/a_test.go"}
	for title, want := range map[string][]string{
		"The operator works":         one,
		"fails at once":              one,
		"fails at":                   one,
		"at once":                    nil,
		"without rights fails":       one,
		"waits for a Job":            one,
		"waits for a Deployment":     nil,
		"stops a Deployment":         one,
		"works 7 times with a Job":   one,
		"works 7 times":              nil,
		"a Job: fails (always)":      one,
		"a Job: fails (sometimes)":   nil,
		"works":                      {"test/a_test.go", "test/b/b_test.go"},
		"TestUnit":                   one,
		"The operator works all day": nil,
	} {
		if difference := cmp.Diff(want, specs.Files(title)); difference != "" {
			t.Errorf("%s: %s", title, difference)
		}
	}
	promise := reference.Promise{Promise: "it works", Specs: []string{"works alone", "fails at once", "waits for"}}
	files, err := promise.Files(specs)
	if difference := cmp.Diff([]string{"test/b/b_test.go", "test/a_test.go"}, files); err != nil || difference != "" {
		t.Errorf("%v\n%s", err, difference)
	}
	for _, wrong := range []string{"works", "vanished"} {
		promise.Specs = []string{wrong}
		if _, err := promise.Files(specs); err == nil || !strings.Contains(err.Error(), `"`+wrong+`"`) {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}
