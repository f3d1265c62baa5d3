package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	update   = flag.Bool("update", false, "renew the golden file")
	checkout = flag.Bool("checkout", false, "compare the reasons with this checkout; takes minutes")
)

// The comments in the test module describe which lines and declarations are counted, and why.
func TestMeasuresOfAModule(t *testing.T) {
	measures, err := measureAll(t.Context(), filepath.Join("testdata", "module"), false)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	writeTable(&out, measures, 3)
	golden := filepath.Join("testdata", "table.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(out.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestAFolderWithoutModuleIsAnError(t *testing.T) {
	if _, err := measureAll(t.Context(), t.TempDir(), false); err == nil {
		t.Error("the measurement of a folder without a Go module returned no error")
	}
}

// A reason that nobody needs any more would permit that the place grows again.
func TestEachReasonIsNeeded(t *testing.T) {
	if !*checkout {
		t.Skip("without -checkout; make house prints such reasons, too")
	}
	c, err := load(t.Context(), filepath.Join("..", "..", ".."), "./api/...", "./cmd/...", "./internal/...", "./pkg/...")
	if err != nil {
		t.Fatal(err)
	}
	measures := []measure{
		c.filesOfPackages(), c.linesOfPackages(), c.linesOfFiles(), c.methodsOfTypes(), c.fieldsOfStructs(),
		c.lengthOfFunctions(),
	}
	for _, r := range unneeded(reasons, measures) {
		t.Errorf("%s is not above the goal of %q any more: remove its reason", r.place, r.measure)
	}
	for i, r := range reasons {
		if r.why == "" || reasonFor(reasons[:i], measure{name: r.measure}, place{where: r.place}) != "" {
			t.Errorf("%s has two reasons or an empty one", r.place)
		}
	}
}

func TestPlacesAboveAGoal(t *testing.T) {
	measures := []measure{
		{name: "fields", goal: "2", limit: 2, places: []place{
			{3, "shop.Shop, pkg/shop/shop.go:15"},
			{4, "shop.stock, pkg/shop/stock.go:4"},
			{2, "shop.label, pkg/shop/stock.go:23"},
			{9, "main.world, test/lab/soak/world.go:35"},
		}},
		{name: "lines", goal: "10", limit: 10, places: []place{{11, "pkg/shop/shop.go"}}},
		{name: "cycles", goal: "-", places: []place{{99, "pkg/shop"}}},
	}
	all := []reason{
		{"fields", "shop.stock", "it is large"},
		{"fields", "shop.label", "it was large"},
		{"lines", "shop.Shop", "another measure"},
	}
	var out strings.Builder
	writeReasons(&out, measures, all)
	want := `
shop.label is not above the goal of "fields" any more: remove its reason
shop.Shop is not above the goal of "lines" any more: remove its reason

| above a goal     | measure | value | goal | reason      |
|------------------|---------|-------|------|-------------|
| shop.Shop        | fields  | 3     | 2    |             |
| pkg/shop/shop.go | lines   | 11    | 10   |             |
| shop.stock       | fields  | 4     | 2    | it is large |
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(all[1:], unneeded(all, measures), cmp.AllowUnexported(reason{})); diff != "" {
		t.Error(diff)
	}
}

func TestLargestCycle(t *testing.T) {
	for name, test := range map[string]struct {
		edges string
		want  int
	}{
		"nothing":                {"", 0},
		"a chain has no cycle":   {"a>b b>c", 1},
		"a diamond has no cycle": {"a>b a>c b>d c>d", 1},
		"a file that depends on itself is no cycle": {"a>a", 1},
		"two":                                   {"a>b b>a", 2},
		"the larger of two cycles":              {"a>b b>a b>c c>d d>e e>c", 3},
		"cycles that share a node":              {"a>b b>a b>c c>b", 3},
		"a cycle with an edge to another chain": {"a>b b>c c>a c>d d>e", 3},
	} {
		t.Run(name, func(t *testing.T) {
			g := graph{}
			for edge := range strings.FieldsSeq(test.edges) {
				from, to, _ := strings.Cut(edge, ">")
				if g[from] == nil {
					g[from] = map[string]bool{}
				}
				g[from][to] = true
			}
			if got := g.largestCycle(); got != test.want {
				t.Errorf("want %d, got %d", test.want, got)
			}
		})
	}
}

func TestWideLinesOfMarkdown(t *testing.T) {
	wide := strings.Repeat("wide ", 30)
	for name, test := range map[string]struct {
		page string
		want int
	}{
		"prose counts":                                    {wide, 1},
		"an umlaut counts as one column":                  {strings.Repeat("ü", columns), 0},
		"a table is not counted":                          {"| " + wide + " |", 0},
		"a block of code is not counted":                  {"```sh\n" + wide + "\n```", 0},
		"a block of code in a list is not counted":        {"- a\n\n  ```sh\n  " + wide + "\n  ```", 0},
		"prose after a block of code is counted":          {"```sh\n```\n" + wide, 1},
		"a comment of several lines is not counted":       {"<!-- sh\n" + wide + "\n-->", 0},
		"prose after a comment is counted":                {"<!-- norun: reason -->\n" + wide, 1},
		"a line of links is not counted":                  {"- [" + wide + "](a.md), [b](b.md).", 0},
		"a line with a link and words is counted":         {"see [" + wide + "](a.md)", 1},
		"the definition of a link is not counted":         {"[a]: https://example.com/" + strings.Repeat("a", columns), 0},
		"a generated page is not counted":                 {"<!-- Made from the code by make generate. -->\n" + wide, 0},
		"a page that mentions generated pages is counted": {"Pages are generated.\n" + wide, 1},
	} {
		t.Run(name, func(t *testing.T) {
			if got := wideInMarkdown(test.page); got != test.want {
				t.Errorf("want %d, got %d", test.want, got)
			}
		})
	}
}

func TestCoverageIsReadFromTheOutputOfGoTest(t *testing.T) {
	out := strings.Join([]string{
		"ok  \texample.com/m/pkg/component/internal/plan\t1.234s\tcoverage: 93.4% of statements",
		"ok  \texample.com/m/pkg/component/internal/ready\t(cached)\tcoverage: 69.9% of statements",
		"\texample.com/m/pkg/component/internal/observe\t\tcoverage: 0.0% of statements",
		"?   \texample.com/m/pkg/component/internal/doc\t[no test files]",
		"ok  \texample.com/m/pkg/component/internal/data\t0.1s\tcoverage: [no statements]",
		"--- FAIL: TestX (0.00s)",
		"FAIL\texample.com/m/pkg/component/internal/execute\t0.003s",
		"FAIL\texample.com/m/pkg/component/internal/broken [build failed]",
		"FAIL",
	}, "\n")
	var got []string
	for _, row := range readCoverage(out).rows(1) {
		got = append(got, strings.TrimSpace(row[1]+" "+row[2]))
	}
	want := []string{
		"4 of 5 packages under 70 % 0 % internal/broken, its tests fail", "0 % internal/execute, its tests fail",
		"0 % internal/observe", "69 % internal/ready", "93 % internal/plan",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
