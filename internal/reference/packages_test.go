package reference_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/reference"
)

// areas are the parts of the list of packages. A package belongs to the area with the longest prefix of its folder.
var areas = []struct{ title, prefix string }{
	{"Types of Kubernetes objects", "api"},
	{"For authors of operators", "pkg"},
	{"The engine", "pkg/component/internal"},
	{"Shared by the packages for authors", "pkg/internal"},
	{"Shared by all", "internal"},
	{"The operator", "cmd/fairlead-operator"},
	{"The command line", "cmd/fairlead"},
	{"Installation", "config"},
	{"Build", "build"},
	{"Examples", "examples"},
	{"Tests", "test"},
	{"The laboratory", "test/lab"},
}

func TestReferenceOfThePackages(t *testing.T) {
	packages, err := reference.Packages(reference.Root(t),
		"api", "build", "cmd", "config", "examples", "internal", "pkg", "test")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string][][]string{}
	for _, p := range packages {
		title, prefix := "", ""
		for _, area := range areas {
			if strings.HasPrefix(p.Folder+"/", area.prefix+"/") && len(area.prefix) > len(prefix) {
				title, prefix = area.title, area.prefix
			}
		}
		meaning := reference.Prose(p.Synopsis)
		if p.Module {
			meaning += " (a Go module of its own)"
		}
		rows[title] = append(rows[title], []string{"[`" + p.Folder + "`](../../" + p.Folder + ")", meaning})
	}
	var page strings.Builder
	page.WriteString("# Packages\n\nEach package with the first sentence of its comment. The comment also states the " +
		"rules that the package obeys.\n" +
		"[ARCHITECTURE.md](../../ARCHITECTURE.md) tells how they work together.\n")
	for _, area := range areas {
		page.WriteString("\n## " + area.title + "\n\n" + reference.Table([]string{"package", "comment"}, rows[area.title]))
		delete(rows, area.title)
	}
	for title, left := range rows {
		t.Errorf("no area %q for %v", title, left)
	}
	reference.Check(t, "packages.md", page.String())
}

func TestPackagesHaveTheirFirstSentence(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"a/doc.go":          "// Package a does it. It does more.\npackage a\n",
		"a/other.go":        "package a\n",
		"a/main/main.go":    "// Command main runs it:\n//\n//\tmain\npackage main\n",
		"a/b/b_test.go":     "// Package b has tests only.\npackage b\n",
		"a/testdata/d.go":   "package d\n",
		"a/.hidden/e.go":    "package e\n",
		"a/module/go.mod":   "module m\n",
		"a/module/m.go":     "// Package m is alone.\npackage m\n",
		"other/other.go":    "package other\n",
		"a/none/page.md":    "text",
		"c/none/none.go":    "package none\n",
		"c/none/n_test.go":  "package none_test\n",
		"c/later/a_test.go": "package later_test\n",
	} {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := reference.Packages(root, "a")
	want := []reference.Package{
		{Folder: "a", Synopsis: "does it"},
		{Folder: "a/b", Synopsis: "has tests only"},
		{Folder: "a/main", Synopsis: "runs it"},
		{Folder: "a/module", Synopsis: "is alone", Module: true},
	}
	if difference := cmp.Diff(want, got); err != nil || difference != "" {
		t.Error(err, difference)
	}
	_, err = reference.Packages(root, "a", "c")
	if err == nil || err.Error() != "c/later has no package comment\nc/none has no package comment" {
		t.Error(err)
	}
}
