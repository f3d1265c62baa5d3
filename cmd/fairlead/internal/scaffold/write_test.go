package scaffold_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/scaffold"
	"github.com/fairlead-io/fairlead/internal/settingtext"
)

// requestFor returns a request for a small project in a folder, with which tests are fast.
func requestFor(t *testing.T, dir string) scaffold.Request {
	t.Helper()
	if testing.Short() {
		t.Skip("needs the tools of a project")
	}
	fairlead, err := scaffold.FindFairlead(root)
	if err != nil {
		t.Fatal(err)
	}
	return scaffold.Request{Dir: dir, Options: shop(), Fairlead: fairlead, Report: func(string) {}}
}

func newProject(t *testing.T, req scaffold.Request) *scaffold.Project {
	t.Helper()
	project, err := scaffold.New(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return project
}

func TestNoFileIsOverwrittenWithoutForce(t *testing.T) {
	dir := t.TempDir()
	for _, file := range []string{"README.md", "main.go"} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	req := requestFor(t, dir)
	err := newProject(t, req).Write(t.Context())
	exists, ok := errors.AsType[*scaffold.ExistsError](err)
	if !ok || !slices.Equal(exists.Files, []string{"README.md", "main.go"}) {
		t.Fatalf("Write must report the existing files README.md and main.go, got %v", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("Write changed the folder: %v, %v", entries, err)
	}
	req.Force = true
	if err := newProject(t, req).Write(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := contentOf(t, dir, "main.go"); !strings.Contains(got, "package main") {
		t.Errorf("main.go was not overwritten: %s", got)
	}
}

func TestAFullFolderIsToldInFewWords(t *testing.T) {
	err := &scaffold.ExistsError{Dir: "shop", Files: []string{"a", "b", "c", "d", "e"}}
	if want := "nothing was written: shop already has a, b, c and 2 more files of the project; --dry-run lists these " +
		"files, and --force overwrites them, so that their content is lost"; err.Error() != want {
		t.Errorf("the error names the existing files wrongly: %s", err)
	}
}

func TestNothingIsWrittenWhereAToolFails(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	t.Setenv("PATH", t.TempDir())
	if err := newProject(t, requestFor(t, dir)).Write(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "go is required") {
		t.Errorf("Write without the program go returned %v", err)
	}
	if entries, err := os.ReadDir(filepath.Dir(filepath.Dir(dir))); err != nil || len(entries) > 0 {
		t.Errorf("the folder contains %v, %v", entries, err)
	}
}

func TestFilesThatAreBesideThoseOfAChartAreTold(t *testing.T) {
	dir := t.TempDir()
	strangers := []string{"internal/generator/chart/LICENSE", "internal/generator/chart/templates/old.yaml"}
	for _, stranger := range strangers {
		if err := errors.Join(os.MkdirAll(filepath.Join(dir, filepath.Dir(stranger)), 0o755),
			os.WriteFile(filepath.Join(dir, stranger), nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	req := requestFor(t, dir)
	req.Options.Generator = scaffold.GeneratorHelm
	project := newProject(t, req)
	t.Setenv("PATH", t.TempDir()) // Without programs on the PATH, Write fails after the check of existing files.
	if err := project.Write(t.Context()); err == nil {
		t.Fatal("the project was written although its tools do not exist")
	}
	notes := strings.Join(project.Notes, "\n")
	for _, stranger := range strangers {
		// The note must not state that Helm renders the file, because Helm does not render LICENSE.
		if !strings.Contains(notes, stranger+" existed before, and is now part of the source that the operator renders") {
			t.Errorf("%s: got %s", stranger, notes)
		}
	}
}

func TestPathsListWhatIsWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "project")
	req := requestFor(t, dir)
	project := newProject(t, req)
	all, existing, err := project.Paths()
	if err != nil || len(existing) > 0 {
		t.Fatalf("got the existing files %v and the error %v, want none", existing, err)
	}
	if err := project.Write(t.Context()); err != nil {
		t.Fatal(err)
	}
	var written []string
	err = filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			relative, failure := filepath.Rel(dir, path)
			written, err = append(written, filepath.ToSlash(relative)), failure
		}
		return err
	})
	slices.Sort(written)
	if err != nil || !slices.Equal(written, all) {
		t.Errorf("Write wrote the files %v, but listed %v; error %v", written, all, err)
	}
}

func TestAChartWhoseValueIsAFieldOfAnInterfaceIsRefused(t *testing.T) {
	req := requestFor(t, t.TempDir())
	req.Options.Generator, req.Options.Given = scaffold.GeneratorHelm, true
	req.Options.Interfaces = []scaffold.Interface{scaffold.InterfaceIntervals}
	req.Source = os.DirFS("testdata/chart")
	_, err := scaffold.New(t.Context(), req)
	if err == nil || !strings.Contains(err.Error(), `"timeout"`) ||
		!strings.Contains(err.Error(), "--interfaces intervals") {
		t.Errorf("the error must name the option --interfaces intervals, got %v", err)
	}
}

func TestSettingsForTheReadyMadeOperatorAreThoseOfTheProjectsOwn(t *testing.T) {
	req := requestFor(t, t.TempDir())
	req.Options.Generator, req.Options.Given = scaffold.GeneratorHelm, true
	req.Source = fstest.MapFS{
		"Chart.yaml": {Data: []byte("{apiVersion: v2, name: shop, version: 1.0.0}\n")},
		"templates/kept.yaml": {Data: []byte("# fairlead.io/docs: here\n# fairlead.io/" +
			strings.Join(settingtext.Names(), "\n# fairlead.io/") + "\n")},
	}
	project := newProject(t, req)
	text := fileOf(t, project, "internal/generator/chart/templates/kept.yaml")
	for _, name := range settingtext.Names() {
		if !strings.Contains(text, "# "+req.Options.OperatorName+"/"+name+"\n") {
			t.Errorf("the file lacks the annotation %s: %s", name, text)
		}
	}
	if !strings.Contains(text, "fairlead.io/docs: here") {
		t.Errorf("the file lacks the annotation docs: %s", text)
	}
	if notes := strings.Join(project.Notes, "\n"); !strings.Contains(notes, "annotations of fairlead.io in") {
		t.Errorf("the notes do not mention the renamed annotations: %s", notes)
	}
}
