package inspect

import (
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestAWatchShowsNoExportsOfANamespaceThatHasSpentItsTime(t *testing.T) {
	now := time.Unix(1000, 0)
	v := View{Reconciler: reconciler, Allowance: NewAllowance(func() time.Time { return now })}
	obj := widgetWith(t, "", "{phase: Bound}")
	obj.SetNamespace("a")
	obj.SetAnnotations(map[string]string{reconciler + "/" + manifests.AnnotationExport: "phase=self.status.phase"})
	known := func() bool {
		_, _, ok := v.Exports(t.Context(), obj).Value("phase")
		return ok
	}
	if !known() {
		t.Error("the exports are not shown")
	}
	v.Allowance.add("namespace a", 2*time.Second, now)
	if known() {
		t.Error("the exports are evaluated, although the namespace has no time left")
	}
	if v.Exports(t.Context(), obj) == nil {
		t.Error("nothing says that the object has to be read")
	}
	v.Allowance = nil
	if !known() {
		t.Error("outside of a watch, the exports are not shown")
	}
}
