package inventory

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/records"
)

// recordPhases makes the parts of a pass that record the objects of phases, and write the status.
func (c *cluster) recordPhases(names ...string) error {
	c.t.Helper()
	p := c.begin()
	if err := c.store.Phases().Record(c.t.Context(), p, c.owner(), phases(c, names...)); err != nil {
		return err
	}
	return c.store.Components.WriteStatus(c.t.Context(), p, components.RefOf(&p.Status))
}

// phaseRecords returns the ids of the records of phases.
func (c *cluster) phaseRecords() []string {
	c.t.Helper()
	names := c.secretsOf(records.Phases)
	for i := range names {
		names[i] = records.IDOf(names[i])
	}
	return names
}

// What operator a records is outdated, because the other operator has recorded other phases since a loaded the
// component.
func TestAnOutdatedOperatorDeletesNoPhasesOfAnother(t *testing.T) {
	for name, test := range map[string]struct {
		// before and later are the phases that the other operator records before and after a loads the component, and ours
		// are those that a records then.
		before, later, ours string
	}{
		"with the phases that were recorded before": {"r1", "r2", "r1"},
		"without phases any more":                   {"r1", "r2", ""},
		"without phases, as before":                 {"", "r1", ""},
		"with other phases":                         {"r1", "r2", "r3"},
		"with the first phases":                     {"", "r1", "r2"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			a := newCluster(t)
			b := a.other()
			if test.before != "" {
				g.Expect(b.recordPhases(test.before)).To(Succeed())
			}
			p := a.begin()
			g.Expect(b.recordPhases(test.later)).To(Succeed())
			named := a.load().Status.PhaseRecord
			g.Expect(a.phaseRecords()).To(ConsistOf(named))
			a.found()

			var names []string
			if test.ours != "" {
				names = []string{test.ours}
			}
			err := a.store.Phases().Record(t.Context(), p, a.owner(), phases(a, names...))
			g.Expect(passerror.Interrupted(err)).To(BeTrue(), "got %v", err)
			g.Expect(a.phaseRecords()).To(ContainElement(named))
			g.Expect(a.load().Status.PhaseRecord).To(Equal(named))
		})
	}
}

func TestTheStatusNamesNoPhasesBeforeTheyAreDeleted(t *testing.T) {
	g := NewWithT(t)
	c := newCluster(t)
	g.Expect(c.recordPhases("r1")).To(Succeed())
	p, written := c.begin(), c.statuses
	named := p.Status.PhaseRecord
	c.beforeStatus = func() error { return errCrash }
	g.Expect(c.store.Phases().Record(t.Context(), p, c.owner(), nil)).To(MatchError(errCrash))
	g.Expect(p.Status.PhaseRecord).To(Equal(named), "the report of this pass writes it")
	g.Expect(c.phaseRecords()).To(ConsistOf(named))

	c.beforeStatus = nil
	c.Refuse = func(verb, _ string) error {
		if verb == "delete" {
			return errCrash
		}
		return nil
	}
	g.Expect(c.store.Phases().Record(t.Context(), c.begin(), c.owner(), nil)).NotTo(Succeed())
	g.Expect(c.load().Status.PhaseRecord).To(BeEmpty())
	g.Expect(c.phaseRecords()).To(ConsistOf(named))
	g.Expect(c.statuses).To(Equal(written + 2))

	c.Refuse = nil
	c.restart()
	c.found()
	g.Expect(c.store.Phases().Record(t.Context(), c.begin(), c.owner(), nil)).To(Succeed())
	g.Expect(c.phaseRecords()).To(BeEmpty())
	g.Expect(c.statuses).To(Equal(written+2), "the status names no phases already")
}

func TestADeletionDeletesPhasesWithoutAWriteOfTheStatus(t *testing.T) {
	for name, status := range map[string]func(*metav1alpha1.Status){
		"that the status names": func(*metav1alpha1.Status) {},
		"that the status has announced, and that have no label any more": func(st *metav1alpha1.Status) {
			st.PhaseRecord = records.PhasesPending
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c := newCluster(t)
			g.Expect(c.recordPhases("r1")).To(Succeed())
			p, written := c.begin(), c.statuses
			p.DeletionTimestamp = new(metav1.Now())
			status(&p.Status)
			for _, secret := range c.Secrets {
				secret.SetLabels(nil)
				c.Add(secret)
			}
			g.Expect(c.store.Phases().End(t.Context(), p, c.owner())).To(Succeed())
			g.Expect(c.Secrets).To(BeEmpty())
			g.Expect(p.Status.PhaseRecord).To(BeEmpty())
			g.Expect(c.statuses).To(Equal(written))
		})
	}
}
