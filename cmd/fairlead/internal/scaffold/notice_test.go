package scaffold_test

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/scaffold"
)

func withNotice(t *testing.T, notice scaffold.Notice) *scaffold.Project {
	t.Helper()
	fairlead, err := scaffold.FindFairlead(root)
	if err != nil {
		t.Fatal(err)
	}
	o := shop()
	o.Notice = notice
	return newProject(t, scaffold.Request{Options: o, Fairlead: fairlead})
}

func TestHeadersAndCodeOwnersAreThoseOfTheGoldenFiles(t *testing.T) {
	for name, notice := range map[string]scaffold.Notice{
		"owner":      {Owner: "Example Inc."},
		"license":    {License: "MIT"},
		"spdx":       {Owner: "Example Inc.", License: scaffold.DefaultLicense},
		"code-owner": {Owner: "@example/platform", License: "MIT OR Apache-2.0"},
	} {
		t.Run(name, func(t *testing.T) {
			project := withNotice(t, notice)
			var got txtar.Archive
			for _, file := range project.Files {
				if file.Path == "test/doc.go" || file.Path == "hack/boilerplate.go.txt" || file.Path == ".github/CODEOWNERS" {
					got.Files = append(got.Files, txtar.File{Name: file.Path, Data: file.Content})
				}
			}
			want, err := os.ReadFile(filepath.Join("testdata", "notice", name+".txtar"))
			if err != nil {
				t.Fatal(err)
			}
			if difference := cmp.Diff(string(want), string(txtar.Format(&got))); difference != "" {
				t.Errorf("the files differ (-want +got):\n%s", difference)
			}
		})
	}
}

func TestEachGoFileBeginsWithTheHeader(t *testing.T) {
	project := withNotice(t, scaffold.Notice{Owner: "Example Inc.", License: "MIT"})
	header := fileOf(t, project, "hack/boilerplate.go.txt")
	for _, file := range project.Files {
		if path.Ext(file.Path) == ".go" && !strings.HasPrefix(string(file.Content), header+"\n") {
			t.Errorf("%s does not begin with the header: %.200s", file.Path, file.Content)
		}
	}
	if !strings.Contains(fileOf(t, project, "Makefile"), " object:headerFile=hack/boilerplate.go.txt ") {
		t.Error("make generate does not read the header")
	}
}

func TestAProjectWithoutAnOwnerHasNoHeader(t *testing.T) {
	for _, file := range withNotice(t, scaffold.Notice{}).Files {
		text := string(file.Content)
		if strings.Contains(file.Path, "boilerplate") || strings.HasSuffix(file.Path, "CODEOWNERS") ||
			strings.Contains(text, "headerFile") || strings.HasPrefix(text, "// SPDX") || strings.HasPrefix(text,
			"// Copyright") {
			t.Errorf("%s has a header or refers to one", file.Path)
		}
	}
}

func TestAnUpdateKeepsTheHeaders(t *testing.T) {
	dir := t.TempDir()
	for _, file := range withNotice(t, scaffold.Notice{Owner: "Example Inc.", License: "MIT"}).Files {
		place := filepath.Join(dir, file.Path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(place), 0o755), os.WriteFile(place, file.Content, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	fairlead, err := scaffold.FindFairlead(root)
	if err != nil {
		t.Fatal(err)
	}
	update, err := scaffold.UpdateProject(t.Context(), scaffold.UpdateRequest{Dir: dir, Fairlead: fairlead, DryRun: true})
	if err != nil || len(update.Changes)+len(update.Conflicts) > 0 {
		t.Errorf("the project must be up to date, got %v, %v, %v", update.Changes, update.Conflicts, err)
	}
}
