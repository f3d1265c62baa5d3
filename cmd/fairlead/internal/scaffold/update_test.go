package scaffold_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/scaffold"
)

// base is the path of the record of the rendered files in a project.
const base = ".fairlead/base.txtar"

// projects writes a project, and returns a function that copies the project for a test.
func projects(t *testing.T, req scaffold.Request) func(*testing.T) string {
	t.Helper()
	original := write(t, req)
	return func(t *testing.T) string {
		t.Helper()
		dir := filepath.Join(t.TempDir(), "project")
		if err := os.CopyFS(dir, os.DirFS(original)); err != nil {
			t.Fatal(err)
		}
		return dir
	}
}

// replace replaces a text in a file. The file must contain the text.
func replace(t *testing.T, dir, file, before, after string) {
	t.Helper()
	place := filepath.Join(dir, file)
	text, err := os.ReadFile(place)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(text, []byte(before)) {
		t.Fatalf("%s does not contain %q", file, before)
	}
	if err := os.WriteFile(place, bytes.Replace(text, []byte(before), []byte(after), 1), 0o600); err != nil {
		t.Fatal(err)
	}
}

// age changes a file and its record in a project, as if an older template with another text had rendered the file.
func age(t *testing.T, dir, file, now, before string) {
	t.Helper()
	replace(t, dir, file, now, before)
	replace(t, dir, base, now, before)
}

// update updates a project.
func update(t *testing.T, dir string, change func(*scaffold.UpdateRequest)) (found scaffold.Update, verbs []string) {
	t.Helper()
	fairlead, err := scaffold.FindFairlead(root)
	if err != nil {
		t.Fatal(err)
	}
	req := scaffold.UpdateRequest{Dir: dir, Fairlead: fairlead, Report: func(line string) { t.Log(line) }}
	change(&req)
	found, err = scaffold.UpdateProject(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range found.Changes {
		verbs = append(verbs, string(c.Verb)+" "+c.File)
	}
	return found, verbs
}

func plainly(*scaffold.UpdateRequest) {}

func contentOf(t *testing.T, dir, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

const (
	// now is a line of the Makefile, and before is the line of an assumed older template.
	now, before = "help: ## Show this help", "help: ## Show some help"
	// theirs is another line of the Makefile, and mine is the line after a change by a person.
	theirs, mine = "clean: ## Remove what was built", "clean: ## Tidy up"
)

func TestUpdateBringsWhatIsNewerBesideWhatPeopleChanged(t *testing.T) {
	project := projects(t, scaffold.Request{Options: shop()})

	t.Run("changes nothing without newer templates", func(t *testing.T) {
		dir := project(t)
		replace(t, dir, "Makefile", theirs, mine)
		if found, verbs := update(t, dir, plainly); len(verbs) > 0 || len(found.Conflicts) > 0 {
			t.Errorf("an update without changes returned %v and the conflicts %v", verbs, found.Conflicts)
		}
	})
	t.Run("updates files that no person changed", func(t *testing.T) {
		dir := project(t)
		age(t, dir, "Makefile", now, before)
		if _, verbs := update(t, dir, plainly); !slices.Equal(verbs, []string{"update Makefile"}) {
			t.Errorf("the update must change only the Makefile, got %v", verbs)
		}
		if got := contentOf(t, dir, "Makefile"); !strings.Contains(got, now) {
			t.Errorf("the Makefile does not have the line of the new template: %s", got)
		}
		if _, verbs := update(t, dir, plainly); len(verbs) > 0 {
			t.Errorf("a second update has the changes %v", verbs)
		}
	})
	t.Run("merges changes of a person and of the template", func(t *testing.T) {
		dir := project(t)
		age(t, dir, "Makefile", now, before)
		replace(t, dir, "Makefile", theirs, mine)
		if found, verbs := update(t, dir, plainly); !slices.Equal(verbs, []string{"merge Makefile"}) ||
			len(found.Conflicts) > 0 {
			t.Errorf("the update returned the changes %v and the conflicts %v", verbs, found.Conflicts)
		}
		if got := contentOf(t, dir, "Makefile"); !strings.Contains(got, now) || !strings.Contains(got, mine) {
			t.Errorf("the Makefile must have the line of the new template and the person's line: %s", got)
		}
	})
	t.Run("creates new files, and does not restore deleted files", func(t *testing.T) {
		dir := project(t)
		replace(t, dir, base, "-- Dockerfile --", "-- Dockerfile.former --")
		for _, file := range []string{"Dockerfile", "README.md"} {
			if err := os.Remove(filepath.Join(dir, file)); err != nil {
				t.Fatal(err)
			}
		}
		if _, verbs := update(t, dir, plainly); !slices.Equal(verbs, []string{"create Dockerfile"}) {
			t.Errorf("the update must create only the Dockerfile, got %v", verbs)
		}
	})
	t.Run("keeps other statements of go.mod", func(t *testing.T) {
		dir := project(t)
		age(t, dir, "go.mod", "go 1.26.0", "go 1.25.0")
		replace(t, dir, "go.mod", "module example.com/shop-operator", "// Ours.\nmodule example.com/shop-operator")
		if _, verbs := update(t, dir, plainly); !slices.Equal(verbs, []string{"merge go.mod"}) {
			t.Errorf("the update must merge only go.mod, got %v", verbs)
		}
		if got := contentOf(t, dir, "go.mod"); !strings.Contains(got, "go 1.26.0") || !strings.Contains(got, "// Ours.") ||
			!strings.Contains(got, "k8s.io/api ") {
			t.Errorf("go.mod lacks a statement of the person or of the template: %s", got)
		}
	})
}

func TestUpdateTellsOfConflictsWithFileAndLine(t *testing.T) {
	project := projects(t, scaffold.Request{Options: shop()})
	conflicting := func(t *testing.T) (dir string, line int) {
		t.Helper()
		dir = project(t)
		age(t, dir, "Makefile", now, before)
		line = 1 + strings.Count(strings.Split(contentOf(t, dir, "Makefile"), before)[0], "\n")
		replace(t, dir, "Makefile", before, "help: ## Show my help")
		return dir, line
	}
	t.Run("and writes nothing by default", func(t *testing.T) {
		dir, line := conflicting(t)
		age(t, dir, "main.go", "package main", "package main // Older.")
		was := contentOf(t, dir, "Makefile") + contentOf(t, dir, "main.go") + contentOf(t, dir, base)
		found, _ := update(t, dir, plainly)
		if len(found.Conflicts) != 1 || found.Conflicts[0].File != "Makefile" || found.Conflicts[0].Line != line {
			t.Errorf("got the conflicts %v, want a conflict in line %d", found.Conflicts, line)
		}
		if is := contentOf(t, dir, "Makefile") + contentOf(t, dir, "main.go") + contentOf(t, dir, base); is != was {
			t.Error("UpdateProject wrote a file although the update has a conflict")
		}
	})
	t.Run("and writes conflict markers with the option KeepConflicts", func(t *testing.T) {
		dir, _ := conflicting(t)
		update(t, dir, func(req *scaffold.UpdateRequest) { req.KeepConflicts = true })
		got := contentOf(t, dir, "Makefile")
		for _, want := range []string{"<<<<<<< yours", "Show my help", ">>>>>>> template", now} {
			if !strings.Contains(got, want) {
				t.Errorf("the Makefile with conflict markers does not contain %q", want)
			}
		}
	})
	t.Run("for a file that is new in the template and in the project", func(t *testing.T) {
		dir := project(t)
		replace(t, dir, base, "-- Dockerfile --", "-- Dockerfile.former --")
		replace(t, dir, "Dockerfile", "FROM", "# Mine.\nFROM")
		if found, _ := update(t, dir, plainly); len(found.Conflicts) != 1 || found.Conflicts[0].File != "Dockerfile" {
			t.Errorf("want one conflict, in the Dockerfile, got %v", found.Conflicts)
		}
	})
}

func TestUpdateLetsTypesFollowTheChartOfTheProject(t *testing.T) {
	o := shop()
	o.Generator, o.Given = scaffold.GeneratorHelm, true
	dir := write(t, scaffold.Request{Options: o, Source: os.DirFS("testdata/chart")})
	replace(t, dir, "internal/generator/chart/values.yaml", "replicas: 1", "replicas: 1\n# How fast it is.\nspeed: 3")
	if _, verbs := update(t, dir, plainly); !slices.Contains(verbs, "update api/v1alpha1/values.go") {
		t.Errorf("the update must change values.go, got %v", verbs)
	}
	if got := contentOf(t, dir, "api/v1alpha1/values.go"); !strings.Contains(got, "// How fast it is.") ||
		!strings.Contains(got, "Speed *int64") {
		t.Errorf("values.go does not have the new value: %s", got)
	}
	if got := contentOf(t, dir, "chart/definitions/apps.example.com_shops.yaml"); !strings.Contains(got, "speed:") {
		t.Errorf("the CustomResourceDefinition does not contain the new value: %s", got)
	}
}

// filesOnly writes a project without the files that its tools generate, so that the test is fast.
func filesOnly(t *testing.T) string {
	t.Helper()
	fairlead, err := scaffold.FindFairlead(root)
	if err != nil {
		t.Fatal(err)
	}
	project, err := scaffold.New(t.Context(), scaffold.Request{Options: shop(), Fairlead: fairlead})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, file := range project.Files {
		place := filepath.Join(dir, file.Path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(place), 0o755), os.WriteFile(place, file.Content, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestUpdateThatIsInterruptedSaysWhatIsLeftToDo(t *testing.T) {
	dir := filesOnly(t)
	age(t, dir, "Makefile", now, before)
	fairlead, err := scaffold.FindFairlead(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", t.TempDir())
	_, err = scaffold.UpdateProject(t.Context(),
		scaffold.UpdateRequest{Dir: dir, Fairlead: fairlead, Report: func(string) {}})
	if _, ok := errors.AsType[*scaffold.UnfinishedError](err); !ok ||
		!strings.Contains(err.Error(), "go mod tidy && make generate") {
		t.Errorf("the error must name the commands that finish the update, got %v", err)
	}
	if got := contentOf(t, dir, "Makefile"); !strings.Contains(got, now) {
		t.Error("the changes of the template and of the person were not merged")
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".fairlead-scaffold-*")); err != nil || len(left) > 0 {
		t.Errorf("staging folders remain: %v, %v", left, err)
	}
}

func TestUpdateTellsOfChangesToWhatIsNotThereAnyMore(t *testing.T) {
	dir := filesOnly(t)
	age(t, dir, "Makefile", now, before)
	if err := os.Rename(filepath.Join(dir, "Makefile"), filepath.Join(dir, "GNUmakefile")); err != nil {
		t.Fatal(err)
	}
	found, verbs := update(t, dir, func(req *scaffold.UpdateRequest) { req.DryRun = true })
	if len(verbs) > 0 || len(found.Notes) != 1 || !strings.HasPrefix(found.Notes[0], "Makefile was deleted or renamed") {
		t.Errorf("want one note about the missing Makefile, got the changes %v and the notes %v", verbs, found.Notes)
	}
}

func TestUpdateRefusesAFolderThatItDidNotWrite(t *testing.T) {
	_, err := scaffold.UpdateProject(t.Context(), scaffold.UpdateRequest{Dir: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "was not written by fairlead scaffold") {
		t.Errorf("the update of a folder without a project returned %v", err)
	}
}
