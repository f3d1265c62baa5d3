package status

import (
	"fmt"
	"slices"
	"testing"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// settingsNumbered returns the key of a ConfigMap, and an inventory of n ConfigMaps.
func settingsNumbered(i int) manifests.Key {
	return manifests.Key{Kind: "ConfigMap", Namespace: "shop", Name: fmt.Sprint("settings-", i)}
}

func inventoryOf(n int) []metav1alpha1.InventoryEntry {
	var entries []metav1alpha1.InventoryEntry
	for i := range n {
		entries = append(entries, metav1alpha1.InventoryEntry{
			Version: "v1", Kind: "ConfigMap", Namespace: "shop", Name: settingsNumbered(i).Name, UID: "u",
		})
	}
	return entries
}

func changed(i int, reason plan.Reason) result.Change {
	return result.Change{Verb: "Apply", Key: settingsNumbered(i), Reason: string(reason)}
}

func failed(i int) result.Waiting {
	return result.Waiting{DependentReport: metav1alpha1.DependentReport{
		Dependent: settingsNumbered(i).String(), Reason: "Invalid", Message: "no",
	}, Failed: true}
}

func TestEventsAboutDependents(t *testing.T) {
	var told ToldDependents
	orders := manifests.Key{Group: manifests.ExternalGroup, Kind: "Schema", Name: "orders"}
	first, second := &metav1alpha1.Status{Revision: 1}, &metav1alpha1.Status{Revision: 2}
	remote := &metav1alpha1.Status{Revision: 3, TargetCluster: "elsewhere"}
	all := func(n int, change func(int) result.Change) (changes []result.Change) {
		for i := range n {
			changes = append(changes, change(i))
		}
		return changes
	}
	for _, c := range []struct {
		name   string
		status *metav1alpha1.Status
		o      outcome.Outcome
		want   []string
	}{
		{
			"one for each of adopted, repaired and failed dependents", first,
			outcome.Outcome{Outcome: result.Outcome{
				Changes: []result.Change{
					changed(0, plan.ReasonAdopted), changed(1, plan.ReasonDrifted), changed(2, plan.ReasonNew),
					changed(2, plan.ReasonChanged),
				},
				Waiting: []result.Waiting{
					failed(3),
					{DependentReport: metav1alpha1.DependentReport{Dependent: settingsNumbered(4).String()}},
				},
			}},
			[]string{
				"Normal Adopted settings-0: it exists and no component owns it", "Normal Repaired settings-1: it drifted",
				"Warning Failed settings-3: Invalid: no",
			},
		},
		{
			"not again in the same revision, but for another reason", first,
			outcome.Outcome{Outcome: result.Outcome{
				Changes: []result.Change{
					changed(0, plan.ReasonAdopted), changed(1, plan.ReasonMissing),
					changed(0, plan.ReasonUnlabelled),
				},
				Waiting: []result.Waiting{failed(3)},
			}},
			[]string{"Normal Repaired settings-0: somebody removed or replaced its owner label"},
		},
		{
			"again in the next revision", second,
			outcome.Outcome{Outcome: result.Outcome{Waiting: []result.Waiting{failed(3)}}},
			[]string{"Warning Failed settings-3: Invalid: no"},
		},
		{
			"at most ten for each reason", second,
			outcome.Outcome{Outcome: result.Outcome{
				Changes: all(20, func(i int) result.Change { return changed(i, plan.ReasonDiffers) }),
			}},
			[]string{"Normal Repaired settings-0: it differs from its manifest", "… 10"},
		},
		{"none for dependents in another cluster", remote, outcome.Outcome{Outcome: result.Outcome{
			Waiting: []result.Waiting{failed(5)},
		}}, nil},
		{
			"none for an external, whose UID is its token", second,
			outcome.Outcome{Outcome: result.Outcome{
				Changes: []result.Change{
					{Key: orders, Reason: string(plan.ReasonAdopted)}, {Key: orders, Reason: string(plan.ReasonDrifted)},
				},
				Waiting: []result.Waiting{{
					DependentReport: metav1alpha1.DependentReport{Dependent: orders.String(), Reason: "CallFailed"}, Failed: true,
				}},
			}},
			nil,
		},
		{"none for an object that is not recorded", second, outcome.Outcome{Outcome: result.Outcome{
			Waiting: []result.Waiting{failed(99)},
		}}, nil},
	} {
		c.o.Inventory = append(inventoryOf(30), metav1alpha1.InventoryEntry{
			Group: orders.Group, Version: manifests.ExternalVersion, Kind: orders.Kind, Name: orders.Name, External: true,
			UID: "token",
		})
		var got []string
		for _, e := range told.Events(c.status, c.o) {
			got = append(got, fmt.Sprintf("%s %s %s: %s", e.Type, e.Reason, e.Dependent.Name, e.Note))
		}
		if len(got) > 5 {
			got = []string{got[0], fmt.Sprint("… ", len(got))}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q", c.name, got)
		}
	}
}

func TestDroppedFieldsAreToldOnceForEachRevision(t *testing.T) {
	fields := func(names ...string) []result.DroppedField {
		var dropped []result.DroppedField
		for _, name := range names {
			key := manifests.Key{Kind: "ConfigMap", Namespace: "shop", Name: "a"}
			dropped = append(dropped, result.DroppedField{Key: key, Field: name})
		}
		return dropped
	}
	const begin = "the API server drops fields that the types do not have; correct or remove them: "
	var told ToldDependents
	for _, c := range []struct {
		name     string
		revision int64
		fields   []result.DroppedField
		want     string
	}{
		{"the first fields", 1, fields("datum", "x"), begin + "ConfigMap shop/a: datum; ConfigMap shop/a: x"},
		{"another pass over the same revision", 1, fields("datum", "x"), ""},
		{"a further field", 1, fields("x", "y"), begin + "ConfigMap shop/a: y"},
		{
			"more fields than an event names", 2, fields("0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11"),
			begin + "ConfigMap shop/a: 0; ConfigMap shop/a: 1; ConfigMap shop/a: 2; ConfigMap shop/a: 3; ConfigMap shop/a: 4; " +
				"ConfigMap shop/a: 5; ConfigMap shop/a: 6; ConfigMap shop/a: 7; ConfigMap shop/a: 8; ConfigMap shop/a: " +
				"9; and 2 more",
		},
		{"the other ones", 2, fields("10", "11"), ""},
	} {
		if got := told.Dropped(c.revision, c.fields).Note; got != c.want {
			t.Errorf("%s: the note is %q, want %q", c.name, got, c.want)
		}
	}
}
