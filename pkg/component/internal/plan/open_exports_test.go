package plan

import (
	"strings"
	"testing"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestAnOpenSetPrunesOnlyWhatTheRenderingExcludes(t *testing.T) {
	entry := func(name string, policy metav1alpha1.PrunePolicy) metav1alpha1.InventoryEntry {
		return metav1alpha1.InventoryEntry{
			Version: "v1", Kind: "ConfigMap", Namespace: "shop", Name: name, UID: "u", DeletePolicy: metav1alpha1.DeleteDelete,
			PrunePolicy: policy,
		}
	}
	recorded := []metav1alpha1.InventoryEntry{
		entry("later", ""), entry("at-once", metav1alpha1.PruneAtOnce), entry("excluded", ""),
	}
	inventory, live := NewInventory(recorded), Snapshot{}
	for key := range inventory {
		live[key] = &Observed{Presence: Present, UID: "u", ResourceVersion: "1", Owner: "o"}
	}
	exporter := manifests.Key{Kind: "Service", Namespace: "shop", Name: "db"}
	for _, c := range []struct {
		name    string
		open    []OpenExport
		removed string
		waits   string
	}{
		{"a closed set", nil, "at-once excluded later", ""},
		{
			"a missing value",
			[]OpenExport{{
				AskedExport: AskedExport{AskedExport: metav1alpha1.AskedExport{Name: "x"}, Exporter: exporter},
				Message:     "the object does not exist",
			}},
			"excluded", "Service shop/db: the rendering asked for export x: the object does not exist; nothing is pruned until",
		},
		{
			"a value that vanished, of an object that is not rendered",
			[]OpenExport{{
				AskedExport: AskedExport{AskedExport: metav1alpha1.AskedExport{Name: "x", Value: "1"}},
				Message:     "no object exports it", Terminal: true,
			}},
			"excluded",
			"Part shop/web: the rendering asked for export x: no object exports it; the last value is used: 1; nothing",
		},
		{
			"a value that vanished, of a Secret",
			[]OpenExport{{AskedExport: AskedExport{
				AskedExport: metav1alpha1.AskedExport{Name: "x", Value: "1"},
				Exporter:    manifests.Key{Kind: "Secret", Namespace: "shop", Name: "s"},
			}, Message: "values of Secrets are not available"}},
			"excluded",
			"Secret shop/s: the rendering asked for export x: values of Secrets are not available; the last value is " +
				"used; nothing",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := ForApply(Facts{
				Owner: "o", Component: manifests.Key{Kind: "Part", Namespace: "shop", Name: "web"}, Inventory: inventory,
				Recorded: inventory, Live: live, Open: c.open, Reason: ReasonPruned,
				Excluded: map[manifests.Key]bool{{Kind: "ConfigMap", Namespace: "shop", Name: "excluded"}: true},
			})
			var removed, waits []string
			for _, a := range p.Actions {
				removed = append(removed, a.Key.Name)
			}
			for _, w := range p.Waiting {
				waits = append(waits, w.Key.String()+": "+w.Message)
			}
			if got := strings.Join(removed, " "); got != c.removed {
				t.Errorf("removes %q, want %q", got, c.removed)
			}
			if got := strings.Join(waits, "\n"); !strings.HasPrefix(got, c.waits) || c.waits == "" && got != "" {
				t.Errorf("waits: %s", got)
			}
			if p.Applied == (len(c.open) > 0) {
				t.Errorf("Applied is %t", p.Applied)
			}
		})
	}
}
