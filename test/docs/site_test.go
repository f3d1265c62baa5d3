package docs_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// readSite reads a JSON file of build/site.
func readSite(t *testing.T, name string, into any) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, "build/site", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(content, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// make site-check visits these pages. It needs Node.js, which most test runs do not have.
func TestSiteVisitsPagesThatExist(t *testing.T) {
	var visited []string
	readSite(t, "visited.json", &visited)
	if len(visited) == 0 {
		t.Error("the check of the site visits no page")
	}
	for _, page := range visited {
		if _, err := os.Stat(filepath.Join(root, page)); err != nil {
			t.Errorf("visited.json: %v", err)
		}
	}
}

// The order of the site is that of docs/README.md, whose headings are its sections.
func TestSiteHasSections(t *testing.T) {
	contents, err := os.ReadFile(filepath.Join(root, "docs/README.md"))
	if err != nil {
		t.Fatal(err)
	}
	sections := strings.Split("\n"+string(contents), "\n## ")[1:]
	if len(sections) == 0 {
		t.Error("docs/README.md has no headings")
	}
	for _, section := range sections {
		title, _, _ := strings.Cut(section, "\n")
		if !strings.Contains(section, "](") {
			t.Errorf("docs/README.md: the section %q links to no page", title)
		}
	}
}

// The same tools are installed everywhere, from any registry.
func TestSiteInstallsFixedVersions(t *testing.T) {
	var manifest struct{ DevDependencies map[string]string }
	readSite(t, "package.json", &manifest)
	var lock struct {
		Packages map[string]struct {
			Version, Resolved, Integrity string
		}
	}
	readSite(t, "package-lock.json", &lock)
	fixed := regexp.MustCompile(`^\d+\.\d+\.\d+$`)
	for name, version := range manifest.DevDependencies {
		if !fixed.MatchString(version) || lock.Packages["node_modules/"+name].Version != version {
			t.Errorf("package.json: %s %s is no fixed version that package-lock.json has", name, version)
		}
	}
	for name, locked := range lock.Packages {
		if name != "" && (locked.Resolved != "" || locked.Integrity == "") {
			t.Errorf("package-lock.json: %s has the address of a registry, or no checksum", name)
		}
	}
}
