package rendering

import (
	"strings"
	"testing"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/discovery"
	"github.com/fairlead-io/fairlead/pkg/component/internal/input"
	"github.com/fairlead-io/fairlead/pkg/component/internal/lookup"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestASetMayBeRefusedWhileDiscoveryFails(t *testing.T) {
	object := func(name, digest string) manifests.Object {
		return manifests.Object{Key: manifests.Key{Kind: "ConfigMap", Namespace: "shop", Name: name}, Digest: digest}
	}
	phase := object("bye", "")
	phase.Settings.Phase = manifests.PhasePreDelete
	phases, err := plan.PhaseDigest([]manifests.Object{phase})
	if err != nil {
		t.Fatal(err)
	}
	applied := []metav1alpha1.InventoryEntry{
		{Version: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "a", Digest: "1"},
		{Version: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "b", Digest: "1"},
	}
	a, b := object("a", "1"), object("b", "1")
	down := lookup.Lookups{Served: discovery.Summary{Digest: "without", Undiscovered: []string{"c.example.com/v1"}}}
	complete := lookup.Lookups{Served: discovery.Summary{Digest: "without"}}
	withPhases := metav1alpha1.Status{PhaseRecord: phases}
	for _, c := range []struct {
		name      string
		status    metav1alpha1.Status
		lookups   lookup.Lookups
		inputs    string
		inventory []metav1alpha1.InventoryEntry
		objects   []manifests.Object
		refused   bool
	}{
		{
			"a set that lacks an applied object is refused",
			metav1alpha1.Status{},
			down, "same",
			applied,
			[]manifests.Object{a},
			true,
		},
		{
			"a set that changes an applied object is refused",
			metav1alpha1.Status{},
			down, "same",
			applied,
			[]manifests.Object{a, object("b", "2")},
			true,
		},
		{
			"a set with a further object is refused",
			metav1alpha1.Status{},
			down, "same",
			applied,
			[]manifests.Object{a, b, object("c", "1")},
			true,
		},
		{"an empty set is refused", metav1alpha1.Status{}, down, "same", applied, nil, true},
		{
			"a set that lacks a recorded object of a phase is refused", withPhases, down, "same",
			applied,
			[]manifests.Object{a, b},
			true,
		},
		{
			"an equal set is accepted", withPhases, down, "same",
			applied,
			[]manifests.Object{a, b, phase},
			false,
		},
		{
			"a set is accepted if discovery is complete",
			metav1alpha1.Status{},
			complete, "same",
			applied,
			[]manifests.Object{a},
			false,
		},
		{
			"a set is accepted if nothing is applied",
			metav1alpha1.Status{},
			down, "same",
			nil,
			[]manifests.Object{a},
			false,
		},
		{
			"a set of new inputs that lacks an applied object is refused",
			metav1alpha1.Status{},
			down, "other",
			applied,
			[]manifests.Object{a, object("c", "1")},
			true,
		},
		{
			"a set of new inputs without the recorded phases is refused", withPhases, down, "other",
			applied,
			[]manifests.Object{a, b},
			true,
		},
		{
			"a set of new inputs that changes applied objects is accepted",
			metav1alpha1.Status{},
			down, "other",
			applied,
			[]manifests.Object{a, object("b", "2"), object("c", "1")},
			false,
		},
		{
			"a set is accepted if the applied objects were rendered for the same capabilities",
			statusWith(t, down), down, "same", applied,
			[]manifests.Object{a},
			false,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, name := New(Options{CacheBytes: 1 << 20}), named("web")
			component := &part{status: c.status}
			component.Namespace, component.Name = name.Namespace, name.Name
			component.status.InputDigest = "same"
			set := Set{Rendered: Rendered{Lookups: c.lookups}, Objects: c.objects, inputs: c.inputs}
			r.cache.put(name, set)
			failure := passerror.Of(r.checkPartialDiscovery(Request{
				Component: component, Status: &component.status, Inputs: input.Inputs{Digest: c.inputs}, Inventory: c.inventory,
			}, set))
			if _, kept := r.cache.get(name); kept == c.refused {
				t.Errorf("the rendering is in the cache: %t, want the opposite", kept)
			}
			if !c.refused {
				if failure != nil {
					t.Error(failure)
				}
				return
			}
			if failure == nil || failure.Terminal || failure.Reason != metav1alpha1.ReasonRetrying ||
				!strings.Contains(failure.Message, "c.example.com/v1") ||
				!strings.Contains(failure.Message, "APIService v1.c.example.com") {
				t.Errorf("got %v", failure)
			}
		})
	}
}

// statusWith returns the status of a component that was rendered with look-ups.
func statusWith(t *testing.T, l lookup.Lookups) metav1alpha1.Status {
	t.Helper()
	var status metav1alpha1.Status
	var err error
	if status.Lookups, status.LookupsDigest, err = l.Lines(); err != nil {
		t.Fatal(err)
	}
	return status
}
