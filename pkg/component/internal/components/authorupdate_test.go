package components

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// suspend is a function for Update that changes the spec.
func suspend(obj Object) error {
	obj.(*gadget).Spec.Suspend = true //nolint:errcheck // The test has components of one type.
	return nil
}

// label is a function for Update that sets a label.
func label(obj Object) error {
	obj.SetLabels(map[string]string{"tier": "web"})
	return nil
}

// asServer makes the patches of a test increase the generation, as an API server does after a change of the spec.
func (c *cluster) asServer() {
	c.afterPatch = func(obj client.Object) { obj.SetGeneration(obj.GetGeneration() + 1) }
}

func TestAnUpdateIsReadAfterItWasWritten(t *testing.T) {
	g := NewWithT(t)
	c := newCluster(t, newGadget(func(g *gadget) { g.Status.Port = 80 }))
	c.cached = c.load()
	c.asServer()
	obj := c.load()
	obj.Status.Revision = 7
	g.Expect(c.store.Update(t.Context(), obj, suspend)).To(Succeed())
	g.Expect(c.stored().Spec.Suspend).To(BeTrue())
	g.Expect(c.load().Spec.Suspend).To(BeTrue(), "the cache has an older spec than the last write")
	g.Expect(obj.Spec.Suspend).To(BeTrue())
	g.Expect(obj.Generation).To(BeEquivalentTo(2))
	g.Expect(obj.Status.Revision).To(BeEquivalentTo(7), "the pass has not written its part yet")
	g.Expect(c.stored().Status.Revision).To(BeZero())
	g.Expect(c.woken).To(Equal(1))
}

func TestAnUpdateOfTheMetadataKeepsTheSpecInMemory(t *testing.T) {
	g := NewWithT(t)
	c := newCluster(t, newGadget())
	obj := c.load()
	obj.Spec.Suspend = true // as a hook fills in a default
	g.Expect(c.store.Update(t.Context(), obj, label)).To(Succeed())
	g.Expect(obj.Spec.Suspend).To(BeTrue())
	g.Expect(c.stored().Spec.Suspend).To(BeFalse())
	g.Expect(obj.Labels).To(HaveKeyWithValue("tier", "web"))
	g.Expect(obj.ResourceVersion).To(Equal(c.stored().ResourceVersion))
	g.Expect(c.woken).To(BeZero(), "a label needs no pass")
}

func TestAnUpdateChangesNothingOfTheReconcilers(t *testing.T) {
	own := Finalizer(reconciler)
	for _, finalizers := range [][]string{{own, "example.com/other"}, {"example.com/other"}} {
		g := NewWithT(t)
		c := newCluster(t, newGadget(func(g *gadget) {
			g.Finalizers, g.Status.Port, g.Status.Revision = finalizers, 80, 3
		}))
		g.Expect(c.store.Update(t.Context(), c.load(), func(obj Object) error {
			obj.SetFinalizers([]string{"example.com/mine"})
			if len(finalizers) == 1 {
				obj.SetFinalizers([]string{"example.com/mine", own})
			}
			obj.SetUID("u2")
			obj.GetStatus().Revision = 4
			return port(81)(obj)
		})).To(Succeed())
		stored := c.stored()
		g.Expect(stored.Status.Port).To(Equal(80))
		g.Expect(stored.Status.Revision).To(BeEquivalentTo(3))
		g.Expect(stored.UID).To(BeEquivalentTo("u1"))
		want := []string{"example.com/mine"}
		if len(finalizers) == 2 {
			want = append(want, own)
		}
		g.Expect(stored.Finalizers).To(Equal(want))
	}
}

func TestAnUpdateIsRepeatedAfterAConflict(t *testing.T) {
	g := NewWithT(t)
	c := newCluster(t, newGadget())
	conflicts, calls := 1, 0
	c.beforePatch = func() {
		if conflicts--; conflicts >= 0 {
			c.edit(func(g *gadget) { g.Annotations = map[string]string{"by": "another client"} })
		}
	}
	g.Expect(c.store.Update(t.Context(), c.load(), func(obj Object) error {
		calls++
		return label(obj)
	})).To(Succeed())
	g.Expect(c.stored().Annotations).To(HaveKeyWithValue("by", "another client"))
	g.Expect(c.stored().Labels).To(HaveKeyWithValue("tier", "web"))
	g.Expect(calls).To(Equal(2))
}

func TestAnUpdateEndsIfTheComponentVanishesAfterAConflict(t *testing.T) {
	g := NewWithT(t)
	c := newCluster(t, newGadget())
	c.beforePatch = func() {
		c.edit(func(g *gadget) { g.Annotations = map[string]string{"by": "another client"} })
		c.beforePatch = func() {}
		c.afterPatch = func(client.Object) { g.Expect(c.server.Delete(t.Context(), newGadget())).To(Succeed()) }
	}
	err := c.store.Update(t.Context(), c.load(), label)
	g.Expect(apierrors.IsConflict(err)).To(BeTrue())
	g.Expect(err).To(MatchError(ContainSubstring("does not exist any more")))
}

func TestAnUpdateThatSendsNothing(t *testing.T) {
	g := NewWithT(t)
	c := newCluster(t, newGadget())
	patches := 0
	c.beforePatch = func() { patches++ }
	g.Expect(c.store.Update(t.Context(), c.load(), func(obj Object) error { return port(80)(obj) })).To(Succeed())
	refused := errors.New("no port is left")
	g.Expect(c.store.Update(t.Context(), c.load(), func(Object) error { return refused })).To(Equal(refused))
	successor := newGadget(func(g *gadget) { g.UID = "u2" })
	g.Expect(apierrors.IsConflict(c.store.Update(t.Context(), successor, suspend))).To(BeTrue())
	g.Expect(patches).To(BeZero())
}

func TestAnUpdateOfTheSpecEndsThePass(t *testing.T) {
	g := NewWithT(t)
	c := newCluster(t, newGadget(func(g *gadget) { g.ResourceVersion = "5" }))
	c.asServer()
	pass := c.passes.Begin(app)
	pass.Loaded(c.load())
	g.Expect(c.store.Update(t.Context(), c.load(), label)).To(Succeed())
	c.afterPatch = func(client.Object) {}
	g.Expect(pass.Superseded()).To(BeTrue())
}

func TestTheEventOfAnUpdateStartsNoSecondPass(t *testing.T) {
	version := func(v string) *gadget { return newGadget(func(g *gadget) { g.ResourceVersion = v }) }
	for _, scenario := range []struct {
		name string
		// during are the versions of the events that arrive before the response, and own is replaced by the result.
		during []string
		fails  bool
		// woken is the number of passes that the update starts. later reports whether the event of the update starts a
		// pass if it arrives after the response.
		woken int
		later bool
	}{
		{name: "the event arrives after the response", woken: 1},
		{name: "the event arrives before the response", during: []string{"own"}, woken: 1, later: true},
		{name: "an event of another client arrives before the response", during: []string{"4"}, woken: 1},
		{
			name: "an event of another client arrives, and the update fails", during: []string{"4"}, fails: true, woken: 1,
			later: true,
		},
		{name: "the update fails", fails: true, later: true},
	} {
		t.Run(scenario.name, func(t *testing.T) {
			g := NewWithT(t)
			c := newCluster(t, newGadget())
			result := ""
			c.afterPatch = func(obj client.Object) {
				obj.SetGeneration(2)
				result = obj.GetResourceVersion()
				for _, v := range scenario.during {
					if v == "own" {
						v = result
					}
					g.Expect(c.store.HoldBack(version(v))).To(BeTrue())
				}
			}
			change := suspend
			if scenario.fails {
				c.beforePatch = func() {
					g.Expect(c.server.Delete(t.Context(), newGadget())).To(Succeed())
					for _, v := range scenario.during {
						g.Expect(c.store.HoldBack(version(v))).To(BeTrue())
					}
					c.afterPatch = func(client.Object) {}
				}
			}
			err := c.store.Update(t.Context(), c.load(), change)
			g.Expect(err != nil).To(Equal(scenario.fails))
			g.Expect(c.woken).To(Equal(scenario.woken))
			g.Expect(c.store.HoldBack(version(result))).To(Equal(!scenario.later))
			g.Expect(c.store.HoldBack(version("9999"))).To(BeFalse(), "the event of a later write starts a pass")
		})
	}
}

func TestAnUpdateNeedsAFieldStatus(t *testing.T) {
	type wrapped struct{ Object }
	err := setStatus(&wrapped{newGadget()}, newGadget())
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("no field Status")))
}
