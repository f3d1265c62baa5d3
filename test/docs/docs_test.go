package docs_test

import (
	"testing"

	"github.com/fairlead-io/fairlead/test/docs"
)

// root is the path of the project's root.
const root = "../.."

func readPages(t *testing.T) []*docs.Page {
	t.Helper()
	pages, err := docs.Pages(root)
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

func TestEveryBlockIsDecidedOn(t *testing.T) {
	for _, page := range readPages(t) {
		for _, block := range page.Blocks {
			if _, err := block.Decide(); err != nil {
				t.Errorf("%s:%d: %v", page.Path, block.Line, err)
			}
		}
		for _, directive := range page.Directives {
			if directive != bareDirective && directive != ownDirective && directive != remoteDirective {
				t.Errorf("%s: unknown directive %q; write %s, %s or %s", page.Path, directive, bareDirective, ownDirective,
					remoteDirective)
			}
		}
	}
}

func TestDataIsWellFormed(t *testing.T) {
	for _, page := range readPages(t) {
		for _, block := range page.Blocks {
			if action, err := block.Decide(); err != nil || action != docs.ActionParse {
				continue
			}
			if err := docs.CheckData(block); err != nil {
				t.Errorf("%s:%d: %v", page.Path, block.Line, err)
			}
		}
	}
}

func TestGoCompiles(t *testing.T) {
	if err := docs.CheckGo(t.Context(), root, readPages(t)); err != nil {
		t.Error(err)
	}
}

func TestLinksLeadSomewhere(t *testing.T) {
	if err := docs.CheckLinks(root, readPages(t)); err != nil {
		t.Error(err)
	}
}
