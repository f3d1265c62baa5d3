package inspect

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

func TestGoneWhen(t *testing.T) {
	for _, c := range []struct {
		condition, kind string
		alive           bool
		want            plan.GoneState
		message         string
	}{
		{"self.status.phase == 'Released'", "Widget", false, plan.GoneHolds, "gone-when is true"},
		{
			"self.status.phase == 'Bound'", "Widget", false, plan.GoneWaits,
			`gone-when: self.status.phase == 'Bound' is false (self.status.phase is "Released")`,
		},
		{"self.status.none == 'x'", "Widget", false, plan.GoneWaits, "has no value yet"},
		{"self.status.phase", "Widget", false, plan.GoneWaits, "the value is a text"},
		{"self.status.phase == ", "Widget", false, plan.GoneWaits, "the annotation was edited"},
		{"self == null || self.status.phase == 'Released'", "Widget", false, plan.GoneHolds, ""},
		{"self.status.phase == 'Released'", "Widget", true, plan.GoneUnset, ""},
	} {
		obj := object(t, "{apiVersion: example.com/v1, kind: "+c.kind+", metadata: {name: w}, status: {phase: Released}}")
		obj.SetAnnotations(map[string]string{reconciler + "/gone-when": c.condition})
		metadata := plan.GoneUnset
		if !c.alive {
			obj.SetDeletionTimestamp(new(metav1.Now()))
			metadata = plan.GoneUnread
		}
		if got := Metadata(obj, reconciler).Gone; got != metadata {
			t.Errorf("%s: metadata alone show %d", c.condition, got)
		}
		got := ours.Object(t.Context(), obj)
		if got.Gone != c.want || !strings.Contains(got.Readiness.Message, c.message) {
			t.Errorf("%s: got %d, %s; want %d, %s", c.condition, got.Gone, got.Readiness.Message, c.want, c.message)
		}
	}
}
