package plan

import (
	"fmt"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestReapplyIsSpread(t *testing.T) {
	const interval = 24 * time.Hour
	key := func(i int) manifests.Key {
		return manifests.Key{Kind: "ConfigMap", Namespace: "shop", Name: fmt.Sprint("cm-", i)}
	}
	all := map[time.Duration]bool{}
	for owner := range 50 {
		times := map[time.Duration]bool{}
		for i := range 100 {
			late := spread(fmt.Sprint("owner-", owner), key(i), interval)
			if late < 0 || late >= interval/10 {
				t.Fatalf("the reapply of this component is delayed by %s, want less than a tenth of the interval", late)
			}
			if applyAgain := spread(fmt.Sprint("owner-", owner), key(i), interval); applyAgain != late {
				t.Fatalf("spread returned %s in the first call and %s in the second call", late, applyAgain)
			}
			times[late], all[late] = true, true
		}
		if len(times) != spreadGroups {
			t.Errorf("the objects of a component are applied again at %d different times, want %d", len(times), spreadGroups)
		}
	}
	if len(all) < 45*spreadGroups {
		t.Errorf("50 components are applied at only %d different times", len(all))
	}
	if late := spread("owner", key(1), 200*365*24*time.Hour); late < 0 || late > 20*365*24*time.Hour {
		t.Errorf("with a very long interval the reapply is delayed by %s", late)
	}
}
