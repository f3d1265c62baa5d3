package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/reference"
	"github.com/fairlead-io/fairlead/test/docs"
)

// specsIn returns the specs in folders of the project.
func specsIn(t *testing.T, folders ...string) reference.Specs {
	t.Helper()
	specs, err := reference.ReadSpecs(root, folders...)
	if err != nil {
		t.Fatal(err)
	}
	return specs
}

func TestThePageAboutSecurityNamesTheSpecs(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "security.md"))
	if err != nil {
		t.Fatal(err)
	}
	attacks := specsIn(t, "test/lab/tenancy")
	if len(attacks) < 10 {
		t.Fatalf("%d attacks", len(attacks))
	}
	existing := specsIn(t, "cmd", "internal", "pkg", "test/chart", "test/conformance", "test/lab/tenancy")
	named := docs.NamedSpecs(string(page))
	for _, title := range named {
		// The page may leave out the containers of a spec, and name all entries of a table by their common title.
		if len(existing.Files(title)) == 0 {
			t.Errorf("docs/security.md names a spec that does not exist: %s", title)
		}
	}
	for _, attack := range attacks {
		if !slices.Contains(named, attack.Title) && !strings.HasPrefix(attack.Title, "Test") &&
			!strings.Contains(attack.Title, reference.Computed) {
			t.Errorf("docs/security.md does not name the spec of test/lab/tenancy: %s", attack.Title)
		}
	}
}

// thread is a link to a thread in the tracker of another project.
var thread = regexp.MustCompile(
	`^\[([a-z0-9-]+)#([0-9]+)\]\(https://github\.com/[a-z0-9-]+/([a-z0-9-]+)/issues/([0-9]+)\)$`)

// specLink is a link from the title of a spec, or its beginning, to the file of the spec.
var specLink = regexp.MustCompile(`\[([^\]]+)\]\(\.\./([a-z0-9_/-]+_test\.go)\)`)

func TestTheProblemsOfOtherToolsAreProven(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "problems-of-other-tools.md"))
	if err != nil {
		t.Fatal(err)
	}
	specs := specsIn(t, "cmd", "test")
	rows := 0
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "| "), " | ")
		if len(cells) != 4 || cells[0] == "problem" {
			continue
		}
		rows++
		for link := range strings.SplitSeq(cells[1], ", ") {
			if parts := thread.FindStringSubmatch(link); parts == nil || parts[1] != parts[3] || parts[2] != parts[4] {
				t.Errorf("docs/problems-of-other-tools.md has no link to a thread: %s", link)
			}
		}
		if !strings.Contains(cells[2], ".md") {
			t.Errorf("docs/problems-of-other-tools.md names no page of the project: %s", cells[2])
		}
		links := specLink.FindAllStringSubmatch(cells[3], -1)
		if others := specLink.ReplaceAllString(cells[3], ""); len(links) == 0 || strings.Trim(others, "; ") != "" {
			t.Errorf("docs/problems-of-other-tools.md has more or less than links to specs in a cell: %s", cells[3])
		}
		for _, link := range links {
			if !slices.Contains(specs.Files(link[1]), link[2]) {
				t.Errorf("docs/problems-of-other-tools.md links a spec that %s does not have: %s", link[2], link[1])
			}
		}
		for _, cell := range cells {
			if words := len(strings.Fields(cell)); words > 60 {
				t.Errorf("docs/problems-of-other-tools.md has a cell with %d words: %s", words, cell)
			}
		}
	}
	if rows < 30 {
		t.Errorf("%d rows name specs", rows)
	}
}

func TestSpecsAreReadFromPages(t *testing.T) {
	const page = "Text. Spec: \"it\nworks\". See `TestUnit`.\n\n| attack | spec |\n|---|---|\n" +
		"| a | it fails; it waits |\n\n| other | text |\n|---|---|\n| a | b |\n"
	want := []string{"it works", "TestUnit", "it fails", "it waits"}
	if difference := cmp.Diff(want, docs.NamedSpecs(page)); difference != "" {
		t.Error(difference)
	}
}
