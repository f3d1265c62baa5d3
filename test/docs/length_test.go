package docs_test

import (
	"maps"
	"path"
	"strings"
	"testing"
)

const (
	// maxWords is the maximum number of words in docs, without the reference, which is generated.
	maxWords = 75_000
	// maxParagraph and maxCell are the maximum numbers of words of a paragraph and of a cell of a table.
	maxParagraph, maxCell = 90, 60
)

// budgets are the maximum numbers of words of the pages in docs. A page in a folder with a budget needs none of its own.
var budgets = map[string]int{
	"docs/adr/": 350,

	"docs/README.md":                                 340,
	"docs/cli.md":                                    2930,
	"docs/coming-from/README.md":                     70,
	"docs/coming-from/argo-cd.md":                    550,
	"docs/coming-from/component-operator-runtime.md": 880,
	"docs/coming-from/flux.md":                       610,
	"docs/coming-from/helm.md":                       540,
	"docs/coming-from/java-operator-sdk.md":          810,
	"docs/coming-from/kapp.md":                       530,
	"docs/coming-from/kro.md":                        540,
	"docs/coming-from/operator-sdk.md":               550,
	"docs/comparison.md":                             2240,
	"docs/component.md":                              1780,
	"docs/dependents/clusters-and-identities.md":     640,
	"docs/dependents/conditions.md":                  1290,
	"docs/dependents/deletion.md":                    1970,
	"docs/dependents/dependencies.md":                720,
	"docs/dependents/external.md":                    2010,
	"docs/dependents/ignored-fields.md":              760,
	"docs/dependents/ownership.md":                   1310,
	"docs/dependents/settings.md":                    1390,
	"docs/dependents/update-policies.md":             1620,
	"docs/dependents/waves-and-stages.md":            1110,
	"docs/examples/dns.md":                           180,
	"docs/examples/fleet.md":                         220,
	"docs/examples/schema.md":                        300,
	"docs/examples/webpage.md":                       310,
	"docs/explanation/deletion.md":                   560,
	"docs/explanation/drift.md":                      1020,
	"docs/explanation/inventory.md":                  1060,
	"docs/explanation/waves.md":                      510,
	"docs/generators/composition.md":                 580,
	"docs/generators/gotemplate.md":                  690,
	"docs/generators/helm.md":                        1990,
	"docs/generators/inputs.md":                      1200,
	"docs/generators/kustomize.md":                   760,
	"docs/how-to/adopt.md":                           930,
	"docs/how-to/custom-generator.md":                1320,
	"docs/how-to/dependent-status.md":                430,
	"docs/how-to/event-sources-in-go.md":             1560,
	"docs/how-to/event-sources.md":                   1010,
	"docs/how-to/external-dependents.md":             1850,
	"docs/how-to/give-up.md":                         540,
	"docs/how-to/manifests-to-chart.md":              440,
	"docs/how-to/migrate-from-helm.md":               730,
	"docs/how-to/migrate-from-kubectl.md":            300,
	"docs/how-to/multi-tenancy.md":                   510,
	"docs/how-to/optional-objects.md":                390,
	"docs/how-to/order.md":                           590,
	"docs/how-to/preview.md":                         410,
	"docs/how-to/protect-from-deletion.md":           340,
	"docs/how-to/remote-clusters.md":                 340,
	"docs/how-to/rename.md":                          500,
	"docs/how-to/restore.md":                         970,
	"docs/how-to/several-components.md":              740,
	"docs/how-to/values-between-objects.md":          1650,
	"docs/how-to/when-something-is-wrong.md":         650,
	"docs/install.md":                                2320,
	"docs/monitoring.md":                             1590,
	"docs/operators.md":                              4010,
	"docs/performance.md":                            1970,
	"docs/problems-of-other-tools.md":                2300,
	"docs/proposals/README.md":                       380,
	"docs/security.md":                               3400,
	"docs/support.md":                                440,
	"docs/tutorial.md":                               750,
	"docs/upgrading.md":                              2870,
}

// isGenerated reports whether a page is generated: the reference, and the README of the chart.
func isGenerated(path string) bool {
	return strings.HasPrefix(path, "docs/reference/") || strings.HasPrefix(path, "config/")
}

// A page that grows must lose a sentence for each that it gains, or another page must.
func TestPagesKeepToTheirLengths(t *testing.T) {
	total, unused := 0, maps.Clone(budgets)
	for _, page := range readPages(t) {
		if !strings.HasPrefix(page.Path, "docs/") || isGenerated(page.Path) {
			continue
		}
		total += page.Words
		budget, found := budgets[page.Path]
		delete(unused, page.Path)
		if !found {
			folder := path.Dir(page.Path) + "/"
			budget, found = budgets[folder]
			delete(unused, folder)
		}
		switch {
		case !found:
			t.Errorf("%s has no budget; add one for its %d words", page.Path, page.Words)
		case page.Words > budget:
			t.Errorf("%s has %d words, %d more than its budget; shorten it", page.Path, page.Words, page.Words-budget)
		}
	}
	if total > maxWords {
		t.Errorf("docs has %d words, %d too many", total, total-maxWords)
	}
	for page := range unused {
		t.Errorf("%s does not exist, and has a budget", page)
	}
}

func TestParagraphsAndCellsAreShort(t *testing.T) {
	for _, page := range readPages(t) {
		if isGenerated(page.Path) {
			continue
		}
		for _, p := range page.Passages {
			kind, limit := "paragraph", maxParagraph
			if p.Cell {
				kind, limit = "cell", maxCell
			}
			if p.Words > limit {
				t.Errorf("%s:%d: a %s of %d words, %d too many; split it", page.Path, p.Line, kind, p.Words, p.Words-limit)
			}
		}
	}
}
