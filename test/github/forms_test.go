package github_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// form is an issue form.
type form struct {
	Name, Description string
	Labels            []string
	Body              []struct {
		Type, ID    string
		Attributes  map[string]any
		Validations map[string]bool
	}
}

func TestIssueFormsAreComplete(t *testing.T) {
	folder := ".github/ISSUE_TEMPLATE"
	for _, name := range []string{"bug.yml", "wish.yml"} {
		var f form
		if err := yaml.UnmarshalStrict([]byte(read(t, filepath.Join(folder, name))), &f); err != nil {
			t.Fatal(err)
		}
		if f.Name == "" || f.Description == "" || len(f.Labels) == 0 {
			t.Errorf("%s lacks a name, a description or labels", name)
		}
		seen := map[string]bool{}
		for _, field := range f.Body {
			known := []string{"markdown", "textarea", "input", "dropdown", "checkboxes"}
			if !slices.Contains(known, field.Type) {
				t.Errorf("%s: the forge knows no type %q", name, field.Type)
			}
			if field.Type == "markdown" {
				continue
			}
			if field.ID == "" || seen[field.ID] || field.Attributes["label"] == nil {
				t.Errorf("%s: a field needs a label, and an id of its own: %q", name, field.ID)
			}
			seen[field.ID] = true
		}
	}
	for _, needed := range []string{"`fairlead version`", "`fairlead status NAME -o yaml`", "Cluster"} {
		if !strings.Contains(read(t, filepath.Join(folder, "bug.yml")), needed) {
			t.Errorf("bug.yml does not ask for %s", needed)
		}
	}
}

func TestCodeOwnersNameWhatExists(t *testing.T) {
	owned := map[string]bool{}
	for line := range strings.Lines(read(t, ".github/CODEOWNERS")) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] == "#" {
			continue
		}
		owned[fields[0]] = true
		if len(fields) < 2 {
			t.Errorf("%s has no owner", fields[0])
		}
		if fields[0] == "*" {
			continue
		}
		if _, err := os.Stat(filepath.Join(root, fields[0])); err != nil {
			t.Errorf("%s does not exist", fields[0])
		}
	}
	if !owned["*"] {
		t.Error("not all files have an owner")
	}
}

func TestTheChangelogHasTheUsualSections(t *testing.T) {
	usual := []string{"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
	changelog := read(t, "CHANGELOG.md")
	if !strings.Contains(changelog, "\n## Unreleased\n") {
		t.Error("there is no section Unreleased")
	}
	for line := range strings.Lines(changelog) {
		section, found := strings.CutPrefix(strings.TrimSpace(line), "### ")
		if found && !slices.Contains(usual, section) {
			t.Errorf("%s is not among %q", section, usual)
		}
	}
}
