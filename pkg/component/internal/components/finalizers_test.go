package components

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// renamed are the finalizers of a reconciler that had two others before.
var renamed = Finalizers{Own: "example.com/new", Previous: []string{"example.com/old", Finalizer(reconciler)}}

func holding(finalizers ...string) *gadget {
	return newGadget(func(g *gadget) { g.Finalizers = finalizers })
}

func TestPreviousFinalizersHold(t *testing.T) {
	g := NewWithT(t)
	for _, finalizer := range []string{"example.com/new", "example.com/old", Finalizer(reconciler)} {
		g.Expect(renamed.Holds(holding("other", finalizer))).To(BeTrue(), finalizer)
		g.Expect(renamed.Others(holding("other", finalizer))).To(Equal([]string{"other"}))
	}
	g.Expect(renamed.Holds(holding("other"))).To(BeFalse())
	g.Expect(renamed.IsCurrent(holding("example.com/new"))).To(BeTrue())
	g.Expect(renamed.IsCurrent(holding("example.com/new", "example.com/old"))).To(BeFalse())
	g.Expect(NeedsPass(holding("example.com/old"), holding("example.com/new"), renamed)).To(BeFalse(), "our own change")
	g.Expect(NeedsPass(holding("example.com/old"), holding(), renamed)).To(BeTrue(), "somebody removed it")
	g.Expect(NeedsPass(holding(), holding("other"), renamed)).To(BeTrue())
}

func TestAuthorsKeepTheFinalizersOfTheReconciler(t *testing.T) {
	g := NewWithT(t)
	g.Expect(renamed.keep([]string{"a"}, []string{"a"})).To(Equal([]string{"a"}))
	g.Expect(renamed.keep(nil, []string{"example.com/old", "b"})).To(Equal([]string{"example.com/old"}))
	g.Expect(renamed.keep([]string{"example.com/new", "b"}, nil)).To(Equal([]string{"b"}))
}

func TestPreviousFinalizersAreReplacedInOneWrite(t *testing.T) {
	g := NewWithT(t)
	c := newCluster(t, holding("example.com/old", "other", Finalizer(reconciler)))
	c.store.options.Finalizers = renamed
	patches := 0
	c.beforePatch = func() { patches++ }
	obj := c.load()
	g.Expect(c.store.AddFinalizer(t.Context(), obj)).To(Succeed())
	g.Expect(c.stored().Finalizers).To(Equal([]string{"other", "example.com/new"}))
	g.Expect(obj.Finalizers).To(Equal(c.stored().Finalizers))
	g.Expect(c.store.AddFinalizer(t.Context(), obj)).To(Succeed())
	g.Expect(patches).To(Equal(1))
}

func TestFinalizersWithOtherNamesAreRecorded(t *testing.T) {
	g := NewWithT(t)
	g.Expect(FinalizersOf(reconciler).Named(reconciler)).To(BeNil())
	g.Expect(renamed.Named(reconciler)).To(Equal([]string{"example.com/new", "example.com/old"}))
}

// An API server accepts no new finalizer during a deletion.
func TestAPreviousFinalizerStaysInADeletion(t *testing.T) {
	g := NewWithT(t)
	c := newCluster(t, newGadget(func(g *gadget) {
		g.Finalizers, g.DeletionTimestamp = []string{"example.com/old", "other"}, new(metav1.Now())
	}))
	c.store.options.Finalizers = renamed
	c.beforePatch = func() { t.Error("the component was written") }
	g.Expect(c.store.AddFinalizer(t.Context(), c.load())).To(Succeed())
}

func TestAllFinalizersOfTheReconcilerAreRemovedAtTheEnd(t *testing.T) {
	g := NewWithT(t)
	c := newCluster(t, newGadget(func(g *gadget) {
		g.Finalizers, g.DeletionTimestamp = []string{"example.com/old", "other", "example.com/new"}, new(metav1.Now())
	}))
	c.store.options.Finalizers = renamed
	g.Expect(c.store.RemoveFinalizer(t.Context(), c.load())).To(Succeed())
	g.Expect(c.stored().Finalizers).To(Equal([]string{"other"}))
}
