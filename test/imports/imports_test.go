package imports

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/reference"
)

const root = "../.."

func table(t *testing.T) []room {
	t.Helper()
	rows, err := expand(root, rooms)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestImportsFollowTheTable(t *testing.T) {
	all, err := imports(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range check(all, table(t), reservations) {
		t.Error(text)
	}
}

func TestEachPackageHasARow(t *testing.T) {
	packages, err := reference.Packages(root, "api", "pkg", "internal")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range packages {
		if roomOf(p.Folder, rooms).path == "" {
			t.Errorf("%s has no row in rules.go", p.Folder)
		}
	}
}

func TestEachRowStandsBelowTheRowsOfItsImports(t *testing.T) {
	above := map[string]bool{}
	rows := map[string]bool{}
	for _, r := range rooms {
		if rows[r.path] {
			t.Errorf("%s has two rows", r.path)
		}
		rows[r.path] = true
	}
	for _, r := range rooms {
		for p := range strings.FieldsSeq(r.may) {
			if rows[p] && !above[p] {
				t.Errorf("%s imports %s, whose row must stand above", r.path, p)
			}
		}
		above[r.path] = true
	}
}

func TestTheFoldersOfTheTableExist(t *testing.T) {
	own := regexp.MustCompile(`^(api|cmd|examples|internal|pkg|test)(/|$)`)
	var lists []string
	for _, r := range rooms {
		lists = append(lists, r.path, r.may, r.not)
	}
	for _, r := range reservations {
		lists = append(lists, r.path, r.by, r.tests)
	}
	for p := range strings.FieldsSeq(strings.Join(lists, " ")) {
		folder := strings.TrimSuffix(strings.TrimSuffix(p, "/..."), "/*")
		if !own.MatchString(folder) {
			continue
		}
		if info, err := os.Stat(filepath.Join(root, folder)); err != nil || !info.IsDir() {
			t.Errorf("the table names %s, which is no folder", p)
		}
	}
}

// The diagram of ARCHITECTURE.md is a picture for readers. Each of its arrows is an import.
func TestTheArrowsOfTheDiagramAreImports(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "```mermaid\n")
	diagram, _, _ := strings.Cut(after, "```")
	all, err := imports(root)
	if err != nil {
		t.Fatal(err)
	}
	folderOf := func(node string) string {
		if name, _, _ := strings.Cut(strings.TrimSpace(node), "["); name != "root" {
			return "pkg/component/internal/" + name
		}
		return "pkg/component"
	}
	arrows := 0
	for line := range strings.Lines(diagram) {
		nodes := strings.Split(line, "-->")
		for n := range len(nodes) - 1 {
			from, to := folderOf(nodes[n]), folderOf(nodes[n+1])
			arrows++
			if !slices.ContainsFunc(all, func(i imported) bool { return !i.isTest && i.folder == from && i.name == to }) {
				t.Errorf("%s does not import %s", from, to)
			}
		}
	}
	if arrows == 0 {
		t.Error("ARCHITECTURE.md has no arrows")
	}
}

func TestARowAllowsWhatItNames(t *testing.T) {
	rooms := []room{
		{"early", "all that stands above it", "...", ""},
		{"low", "data", "", clients},
		{"low/kit", "a kit", "low", ""},
		{"pure", "types", "k8s.io/apimachinery/...", modules},
		{"high", "all", "low/... high/...", "context low/secret high/cli/..."},
	}
	reservations := []reserved{{"helm.sh/helm/... kit", "Helm, and a kit for tests", "high", "low"}}
	for _, c := range []struct {
		name, file, imported string
		want                 bool
	}{
		{"a package that the row names with those below", "high/a.go", "low/kit", true},
		{"a package that the row forbids", "high/a.go", "low/secret", false},
		{"a package that the row does not name", "high/a.go", "pure", false},
		{"a package that stands below the room", "early/a.go", "low", false},
		{"a folder of the same room", "low/a.go", "low/part", true},
		{"a folder of the same room with a row of its own", "low/a.go", "low/kit", false},
		{"a part of the standard library that the row forbids", "high/a.go", "context", false},
		{"another part of the standard library", "high/a.go", "os", true},
		{"a module that the row forbids", "low/a.go", "k8s.io/client-go/dynamic", false},
		{"another module", "low/a.go", "k8s.io/api/core/v1", true},
		{"a module in a room without modules", "pure/a.go", "k8s.io/api/core/v1", false},
		{"the module that such a room names", "pure/a.go", "k8s.io/apimachinery/pkg/types", true},
		{"the standard library in such a room", "pure/a.go", "net/http", true},
		{"anything in a test", "low/a_test.go", "high", true},
		{"a reserved module, by its user", "high/a.go", "helm.sh/helm/v3/pkg/chart", true},
		{"a reserved module", "low/a.go", "helm.sh/helm/v3/pkg/chart", false},
		{"a reserved module, by a test that may", "low/a_test.go", "helm.sh/helm/v3/pkg/chart", true},
		{"a reserved module, by a test that may not", "pure/a_test.go", "helm.sh/helm/v3/pkg/chart", false},
		{"another reserved package", "early/a.go", "kit", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			first, _, _ := strings.Cut(c.imported, "/")
			i := imported{
				folder: filepath.Dir(c.file), file: c.file, name: c.imported, isTest: strings.HasSuffix(c.file, "_test.go"),
				isOwn: slices.Contains([]string{"early", "low", "pure", "high", "kit"}, first),
			}
			if got := check([]imported{i}, rooms, reservations); (len(got) == 0) != c.want {
				t.Errorf("the check returned %q", got)
			}
		})
	}
}
