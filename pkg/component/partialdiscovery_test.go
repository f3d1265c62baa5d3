package component

import (
	"strings"
	"testing"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/condition"
	"github.com/fairlead-io/fairlead/pkg/component/internal/discovery"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestARenderingForWantOfAnAnswer(t *testing.T) {
	object := func(name, digest string) manifests.Object {
		return manifests.Object{Key: manifests.Key{Kind: "ConfigMap", Namespace: "shop", Name: name}, Digest: digest}
	}
	phase := manifests.Object{Key: manifests.Key{Kind: "ConfigMap", Namespace: "shop", Name: "bye"}, Settings: manifests.Settings{Phase: manifests.PhasePreDelete}}
	phases, err := phaseDigest([]manifests.Object{phase})
	if err != nil {
		t.Fatal(err)
	}
	applied := []metav1alpha1.InventoryEntry{
		{Version: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "a", Digest: "1"}, {Version: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "b", Digest: "1"},
	}
	a, b := object("a", "1"), object("b", "1")
	down := looks{served: discovery.Summary{Digest: "without", Undiscovered: []string{"c.example.com/v1"}}}
	for _, c := range []struct {
		name      string
		status    metav1alpha1.Status
		looks     looks
		inputs    string
		inventory []metav1alpha1.InventoryEntry
		objects   []manifests.Object
		refused   bool
	}{
		{"is refused where it lacks what is applied", metav1alpha1.Status{}, down, "same", applied, []manifests.Object{a}, true},
		{"is refused where it differs from what is applied", metav1alpha1.Status{}, down, "same", applied, []manifests.Object{a, object("b", "2")}, true},
		{"is refused where it has more", metav1alpha1.Status{}, down, "same", applied, []manifests.Object{a, b, object("c", "1")}, true},
		{"is refused where nothing is left of it", metav1alpha1.Status{}, down, "same", applied, nil, true},
		{"is refused where it lacks what is recorded of a phase", metav1alpha1.Status{PhaseRecord: phases}, down, "same", applied, []manifests.Object{a, b}, true},
		{"is taken where it is the same", metav1alpha1.Status{PhaseRecord: phases}, down, "same", applied, []manifests.Object{a, b, phase}, false},
		{
			"is taken where all answer", metav1alpha1.Status{}, looks{served: discovery.Summary{Digest: "without"}}, "same",
			applied, []manifests.Object{a}, false,
		},
		{"is taken where nothing is applied", metav1alpha1.Status{}, down, "same", nil, []manifests.Object{a}, false},
		{"of other inputs is refused where it lacks what is applied", metav1alpha1.Status{}, down, "other", applied, []manifests.Object{a, object("c", "1")}, true},
		{"of other inputs is refused where it has no phases any more", metav1alpha1.Status{PhaseRecord: phases}, down, "other", applied, []manifests.Object{a, b}, true},
		{"of other inputs is taken where it changes what is applied", metav1alpha1.Status{}, down, "other", applied, []manifests.Object{a, object("b", "2"), object("c", "1")}, false},
		{"is taken where what is applied was rendered without it too", alike(t, down), down, "same", applied, []manifests.Object{a}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, component := NewReconciler[*part]("parts.example.com", nil, Options{}), &part{status: c.status}
			component.status.InputDigest = "same"
			name := shop.NamespacedName
			component.Namespace, component.Name = name.Namespace, name.Name
			rendered := rendering{digest: c.inputs, draft: draft{looks: c.looks}, objects: c.objects}
			r.rendered.put(name, rendered)
			p := condition.Of(r.checkPartialDiscovery(component, inputs{digest: c.inputs}, rendered, c.inventory))
			if _, kept := r.rendered.get(name); kept == c.refused {
				t.Errorf("remembered: %t", kept)
			}
			if !c.refused {
				if p != nil {
					t.Error(p)
				}
				return
			}
			if p == nil || p.Terminal || p.Reason != metav1alpha1.ReasonRetrying || !strings.Contains(p.Message, "c.example.com/v1") ||
				!strings.Contains(p.Message, "APIService v1.c.example.com") {
				t.Errorf("got %v", p)
			}
		})
	}
}

// alike is a status of a component that was rendered with the same looks.
func alike(t *testing.T, l looks) metav1alpha1.Status {
	t.Helper()
	var status metav1alpha1.Status
	if err := l.enter(&status); err != nil {
		t.Fatal(err)
	}
	return status
}

func TestARenderingThatNeedsNoAnswerIsEntered(t *testing.T) {
	applied := []metav1alpha1.InventoryEntry{{Version: "v1", Kind: "ConfigMap", Name: "a", Digest: "1"}}
	objects := []manifests.Object{{Key: manifests.Key{Kind: "ConfigMap", Name: "a"}, Digest: "1"}}
	for _, c := range []struct {
		name         string
		undiscovered []string
		kept         string
		entered      bool
	}{
		{"so that what comes later is not held up", []string{"c.example.com/v1"}, "", true},
		{"but not where values are kept, for it may depend on the answer", []string{"c.example.com/v1"}, "record", false},
		{"and not where all answer, which would be a write for nothing", nil, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := NewReconciler[*part]("parts.example.com", nil, Options{})
			status := alike(t, looks{served: discovery.Summary{Digest: "before"}})
			status.InputDigest, status.Revision = "same", 1
			now := looks{served: discovery.Summary{Digest: "now", Undiscovered: c.undiscovered}}
			if err := r.begin(&status, inputs{digest: "same"}, rendering{draft: draft{looks: now, id: c.kept}, objects: objects}, applied); err != nil {
				t.Fatal(err)
			}
			if entered := now.entered(&status); entered != c.entered || status.Rendition != 0 {
				t.Errorf("entered: %t, rendition %d", entered, status.Rendition)
			}
		})
	}
}
