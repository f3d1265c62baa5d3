package components

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

// port returns a function for UpdateStatus that sets the port in a status.
func port(number int) func(Object) error {
	return func(obj Object) error {
		obj.(*gadget).Status.Port = number //nolint:errcheck // The test has components of one type.
		return nil
	}
}

func TestAnAuthorsStatusIsReadAfterItWasWritten(t *testing.T) {
	g := NewWithT(t)
	c := newCluster(t, newGadget())
	c.cached = c.load()
	obj := c.load()
	obj.Status.Revision = 7
	g.Expect(c.store.UpdateStatus(t.Context(), obj, port(80))).To(Succeed())
	g.Expect(c.stored().Status.Port).To(Equal(80))
	g.Expect(c.load().Status.Port).To(Equal(80), "the cache has an older status than the last write")
	g.Expect(obj.Status.Port).To(Equal(80))
	g.Expect(obj.Status.Revision).To(BeEquivalentTo(7), "the pass has not written its part yet")
	g.Expect(c.stored().Status.Revision).To(BeZero())
	g.Expect(obj.ResourceVersion).To(Equal(c.stored().ResourceVersion))
}

func TestAnAuthorChangesNothingOfTheReconcilersPart(t *testing.T) {
	g := NewWithT(t)
	c := newCluster(t, newGadget(func(g *gadget) { g.Status.Revision = 3 }))
	g.Expect(c.store.UpdateStatus(t.Context(), c.load(), func(obj Object) error {
		obj.GetStatus().Revision = 4
		obj.GetStatus().Conditions = []metav1.Condition{{Type: metav1alpha1.ConditionReady}, {Type: "Allocated"}}
		return nil
	})).To(Succeed())
	status := c.stored().Status
	g.Expect(status.Revision).To(BeEquivalentTo(3))
	g.Expect(status.Conditions).To(ConsistOf(HaveField("Type", "Allocated")))
}

func TestAnAuthorsUpdateIsRepeatedAfterAConflict(t *testing.T) {
	g := NewWithT(t)
	c := newCluster(t, newGadget())
	conflicts, calls := 1, 0
	c.beforeStatus = func() {
		if conflicts--; conflicts >= 0 {
			c.editStatus(func(g *gadget) { g.Status.Port = 80 })
		}
	}
	g.Expect(c.store.UpdateStatus(t.Context(), c.load(), func(obj Object) error {
		calls++
		return port(obj.(*gadget).Status.Port + 1)(obj) //nolint:errcheck // The test has components of one type.
	})).To(Succeed())
	g.Expect(c.stored().Status.Port).To(Equal(81))
	g.Expect(calls).To(Equal(2))
}

func TestAnAuthorsUpdateThatSendsNothing(t *testing.T) {
	g := NewWithT(t)
	c := newCluster(t, newGadget())
	g.Expect(c.store.UpdateStatus(t.Context(), c.load(), func(Object) error { return nil })).To(Succeed())
	refused := errors.New("no port is left")
	g.Expect(c.store.UpdateStatus(t.Context(), c.load(), func(Object) error { return refused })).To(Equal(refused))
	successor := newGadget(func(g *gadget) { g.UID = "u2" })
	g.Expect(apierrors.IsConflict(c.store.UpdateStatus(t.Context(), successor, port(80)))).To(BeTrue())
	missing := newGadget(func(g *gadget) { g.Name = "missing" })
	g.Expect(apierrors.IsConflict(c.store.UpdateStatus(t.Context(), missing, port(80)))).To(BeTrue())
	g.Expect(c.statuses).To(BeZero())
}

func TestAComponentWithoutAFieldStatus(t *testing.T) {
	type wrapped struct{ Object }
	err := copyAuthorStatus(&wrapped{newGadget()}, newGadget())
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("no field Status")))
}

func TestAPassContinuesWithAStatusThatFitsTheStoredOne(t *testing.T) {
	began := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 6789, time.UTC))
	stored := metav1.NewTime(began.Truncate(time.Second))
	theirs := metav1.Condition{Type: "Theirs", Status: "True"}
	persisted := &metav1alpha1.Status{Revision: 1, ProgressingSince: &began}
	kept := &metav1alpha1.Status{
		Revision: 2, ProgressingSince: &began, Conditions: []metav1.Condition{{Type: "Ready"}, {Type: "Theirs"}},
	}
	for name, c := range map[string]struct {
		loaded metav1alpha1.Status
		fits   bool
	}{
		"the same":                  {*persisted, true},
		"without parts of a second": {metav1alpha1.Status{Revision: 1, ProgressingSince: &stored}, true},
		"with an author's condition": {metav1alpha1.Status{
			Revision: 1, ProgressingSince: &stored,
			Conditions: []metav1.Condition{theirs},
		}, true},
		"of another revision": {metav1alpha1.Status{Revision: 2, ProgressingSince: &began}, false},
		"with a doubt": {metav1alpha1.Status{
			Revision: 1, ProgressingSince: &began,
			RecordDigest: doubtMark + " x",
		}, false},
		"with another condition": {
			metav1alpha1.Status{Revision: 1, ProgressingSince: &began, Conditions: []metav1.Condition{{Type: "Ready"}}}, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			next, fits := Continue(kept, persisted, &c.loaded)
			g.Expect(fits).To(Equal(c.fits))
			if !fits {
				return
			}
			g.Expect(next.Revision).To(BeEquivalentTo(2))
			g.Expect(next.ProgressingSince).To(Equal(c.loaded.ProgressingSince), "it is compared with the stored time")
			want := append([]metav1.Condition{{Type: "Ready"}}, c.loaded.Conditions...)
			g.Expect(next.Conditions).To(Equal(want))
		})
	}
	was := &metav1alpha1.Status{Conditions: []metav1.Condition{{Type: "Ready", LastTransitionTime: began}}}
	is := &metav1alpha1.Status{Conditions: []metav1.Condition{{Type: "Ready", LastTransitionTime: stored}}}
	next, fits := Continue(was.DeepCopy(), was, is)
	if !fits || !equality.Semantic.DeepEqual(next, is) {
		t.Errorf("a status that did not change would be written again: %v", next)
	}
	later := kept.DeepCopy()
	later.ProgressingSince = new(metav1.NewTime(began.Add(time.Hour)))
	next, fits = Continue(later, persisted, persisted)
	if !fits || !next.ProgressingSince.Equal(later.ProgressingSince) {
		t.Errorf("the start of a revision is lost: %v", next)
	}
}
