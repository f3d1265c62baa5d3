package reconcile

import (
	"slices"
	"testing"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/input"
)

func TestChangesAfterARestart(t *testing.T) {
	in := input.Inputs{Digest: "new"}
	for name, c := range map[string]struct {
		applied string
		want    []string
	}{
		"of a first revision":         {applied: ""},
		"of unchanged inputs":         {applied: "new"},
		"of inputs that were changed": {applied: "old", want: []string{changesUnknown}},
	} {
		if got := (&State{}).changesSince(&metav1alpha1.Status{InputDigest: c.applied}, in); !slices.Equal(got, c.want) {
			t.Errorf("the changes %s: want %q, got %q", name, c.want, got)
		}
	}
}
