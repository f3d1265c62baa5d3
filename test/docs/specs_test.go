package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/test/docs"
)

func TestThePageAboutSecurityNamesTheSpecs(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "security.md"))
	if err != nil {
		t.Fatal(err)
	}
	attacks, err := docs.Specs(filepath.Join(root, "test", "lab", "tenancy"))
	if err != nil || len(attacks) < 10 {
		t.Fatalf("%d attacks, %v", len(attacks), err)
	}
	existing := slices.Clone(attacks)
	for _, folder := range []string{
		"cmd", "internal", "pkg", filepath.Join("test", "conformance"),
		filepath.Join("test", "chart"),
	} {
		titles, err := docs.Specs(filepath.Join(root, folder))
		if err != nil {
			t.Fatal(err)
		}
		existing = append(existing, titles...)
	}
	named := docs.NamedSpecs(string(page))
	for _, title := range named {
		// The page may leave out the containers of a spec, and name all entries of a table by their common title.
		if !slices.ContainsFunc(existing, func(spec string) bool { return strings.Contains(spec, title) }) {
			t.Errorf("docs/security.md names a spec that does not exist: %s", title)
		}
	}
	for _, attack := range attacks {
		if !slices.Contains(named, attack) && !strings.HasPrefix(attack, "Test") {
			t.Errorf("docs/security.md does not name the spec of test/lab/tenancy: %s", attack)
		}
	}
}

// specsThatExist returns a function that reports whether the programs or the tests of the project have a spec with a
// title. A title may lack the containers of the spec, and the end of its title.
func specsThatExist(t *testing.T) func(title string) bool {
	t.Helper()
	var titles []string
	var computed []*regexp.Regexp
	for _, folder := range []string{"cmd", "test"} {
		found, err := docs.Specs(filepath.Join(root, folder))
		if err != nil {
			t.Fatal(err)
		}
		patterns, err := docs.ComputedSpecs(filepath.Join(root, folder))
		if err != nil {
			t.Fatal(err)
		}
		titles, computed = append(titles, found...), append(computed, patterns...)
	}
	return func(title string) bool {
		return slices.ContainsFunc(titles, func(spec string) bool { return strings.Contains(spec, title) }) ||
			slices.ContainsFunc(computed, func(pattern *regexp.Regexp) bool {
				return pattern.MatchString(title) || strings.HasPrefix(pattern.String(), "^"+regexp.QuoteMeta(title))
			})
	}
}

// thread is a link to a thread in the tracker of another project.
var thread = regexp.MustCompile(
	`^\[([a-z0-9-]+)#([0-9]+)\]\(https://github\.com/[a-z0-9-]+/([a-z0-9-]+)/issues/([0-9]+)\)$`)

func TestTheProblemsOfOtherToolsAreProven(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "problems-of-other-tools.md"))
	if err != nil {
		t.Fatal(err)
	}
	exists := specsThatExist(t)
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
		for _, title := range docs.Unnamed(cells[3], exists) {
			t.Errorf("docs/problems-of-other-tools.md names a spec that does not exist: %s", title)
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

func TestThePromisesNameSpecs(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "reference", "promises.md"))
	if err != nil {
		t.Fatal(err)
	}
	exists := specsThatExist(t)
	rows := 0
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if specs := strings.TrimSpace(cells[len(cells)-1]); len(cells) == 2 && specs != "spec" {
			rows++
			for _, title := range docs.Unnamed(specs, exists) {
				t.Errorf("docs/reference/promises.md names a spec that does not exist: %s", title)
			}
		}
	}
	if rows < 100 {
		t.Errorf("%d rows name specs", rows)
	}
}

func TestTitlesWithSemicolonsAreFoundInACell(t *testing.T) {
	exists := func(title string) bool {
		table := strings.HasPrefix(title, "it works") // as the pattern of a table of specs
		return table || slices.Contains([]string{"it fails; nothing is written", "a cat", "a dog"}, title)
	}
	for cell, want := range map[string][]string{
		"it works; it fails; nothing is written":               nil,
		"it fails; something is written; it works":             {"it fails", "something is written"},
		"a cat (and each other animal); *operator*: it works":  nil,
		"it works; it vanished":                                {"it vanished"},
		"it works. *operator*: a dog":                          nil,
		"`make faults`: the same; nothing else; and so on":     nil,
		"it works; a cow (and each other animal); it vanished": {"a cow", "it vanished"},
	} {
		if difference := cmp.Diff(want, docs.Unnamed(cell, exists)); difference != "" {
			t.Errorf("%s: %s", cell, difference)
		}
	}
}

func TestPatternsOfComputedTitles(t *testing.T) {
	const code = `package a
var _ = Describe("The operator", func() {
	It("works", func() {})
	It(fmt.Sprintf("works %d times with %s", n, name), func() {})
	It(name + ": fails (always)", func() {})
	Entry(name, 1)
})
`
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "a_test.go"), []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	patterns, err := docs.ComputedSpecs(folder)
	var got []string
	for _, pattern := range patterns {
		got = append(got, pattern.String())
	}
	want := []string{`^works .* times with .*$`, `^.*: fails \(always\)$`}
	if difference := cmp.Diff(want, got); err != nil || difference != "" {
		t.Errorf("%v\n%s", err, difference)
	}
}

func TestSpecsAreFoundWithTheirContainers(t *testing.T) {
	const code = `package a
var _ = Describe("The operator", func() {
	It("works", func() { Expect("a", "b") })
	Context("without rights", func() {
		It("fails "+
			"at once", func() {})
		DescribeTable("waits", func() {}, Entry("for a Job", 1))
		It(computed+"title", func() {})
	})
})
func TestUnit(t *testing.T) {}
`
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "a_test.go"), []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := docs.Specs(folder)
	want := []string{
		"TestUnit", "The operator works", "The operator without rights fails at once",
		"The operator without rights waits for a Job",
	}
	if difference := cmp.Diff(want, got); err != nil || difference != "" {
		t.Errorf("%v\n%s", err, difference)
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
