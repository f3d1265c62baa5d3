package plan

import (
	"strconv"
	"testing"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// BenchmarkForApply plans for 10,000 dependents in sync.
func BenchmarkForApply(b *testing.B) {
	c := &component{world: newWorld()}
	for i := range 10_000 {
		o := desiredObject(0, manifests.StageConfiguration, strconv.Itoa(i))
		c.desired = append(c.desired, o)
		c.applied(o)
	}
	f := Facts{
		Owner: us, Defaults: Policies{Update: metav1alpha1.UpdateSSAOverride, Adoption: metav1alpha1.AdoptIfUnowned},
		Desired: c.desired, Inventory: c.inventory,
	}.seen(c.world.watched)
	for b.Loop() {
		if p := ForApply(f); p.Ready != len(f.Desired) {
			b.Fatalf("the plan counts %d ready objects, want all", p.Ready)
		}
	}
}
