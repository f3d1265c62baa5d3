package component

import (
	"testing"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestWhatIsRememberedOfRepairs(t *testing.T) {
	var book repairBook
	key := manifests.Key{Kind: "ConfigMap", Name: "a"}
	repairs := map[manifests.Key]plan.Repairs{key: {Digest: "d"}}
	book.keep("one", "x", repairs)
	delete(repairs, key)
	if got := book.known("one", "x"); len(got) != 1 {
		t.Errorf("got %v, want what was kept", got)
	}
	if got := book.known("one", "y"); len(got) != 0 {
		t.Errorf("got %v although somebody insists", got)
	}
	if got := book.known("two", "x"); len(got) != 0 {
		t.Errorf("got %v of another owner", got)
	}
	if book.forget("one"); len(book.owners) != 0 {
		t.Errorf("%v is left of an owner that is gone", book.owners)
	}
	book.keep("one", "x", nil)
	if len(book.owners) != 0 {
		t.Errorf("%v is left of an owner of whom nothing is to be remembered", book.owners)
	}
}
