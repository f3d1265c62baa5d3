package component

import (
	"testing"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestHolder(t *testing.T) {
	owner := func(reconciler string) manifests.Owner {
		return manifests.Owner{Cluster: "c", Reconciler: reconciler, Group: "example.com", Kind: "Part", Namespace: "shop", Name: "other"}
	}
	ours, theirs := owner("parts.example.com"), owner("others.example.com")
	e := &Engine{connection: &connection{name: "parts.example.com"}}
	for what, c := range map[string]struct {
		live plan.Observed
		want string
	}{
		"a component of ours has it":                      {plan.Observed{Owner: ours.ID(), OwnerName: ours.String()}, ours.ID()},
		"one of another reconciler, of which no watch is": {plan.Observed{Owner: theirs.ID(), OwnerName: theirs.String()}, ""},
		"a controller": {plan.Observed{Owner: "uid", OwnerName: "uid"}, ""},
		"nobody":       {plan.Observed{}, ""},
	} {
		t.Run(what, func(t *testing.T) {
			if got := e.holder(plan.Facts{Live: plan.Snapshot{{}: &c.live}}, manifests.Key{}); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
