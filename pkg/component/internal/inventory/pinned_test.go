package inventory

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/records"
)

// pinnedSet returns a rendering with pinned values.
func pinnedSet(id string) Set {
	return Set{ID: id, Note: "data.password", Manifests: func() ([]*unstructured.Unstructured, error) {
		return []*unstructured.Unstructured{{Object: map[string]any{"kind": id}}}, nil
	}}
}

func TestPinnedRenderingsAreRecorded(t *testing.T) {
	c := newCluster(t)
	for _, id := range []string{"a", "b"} {
		if err := c.record(c.load(), pinnedSet(id)); err != nil {
			t.Fatal(err)
		}
		got := c.secretsOf(records.Rendering)
		if len(got) != 1 || records.IDOf(got[0]) != id || c.load().Status.RenderedSet != id {
			t.Errorf("the Secrets %q remain, and the status names %q", got, c.load().Status.RenderedSet)
		}
	}
	c.Requests = nil
	if err := c.record(c.load(), pinnedSet("b")); err != nil || len(c.Requests) > 0 {
		t.Errorf("a second Record of the same pinned rendering returned %v, with the requests %q", err, c.Requests)
	}
	c.restart()
	if err := c.record(c.load(), pinnedSet("b")); err != nil ||
		len(c.secretsOf(records.Rendering)) != 1 {
		t.Errorf("Record of the same pinned rendering after a restart returned %v", err)
	}
	p := c.load()
	clear(c.Secrets)
	c.store.States.Of(client.ObjectKeyFromObject(p)).Records.SetID(records.Rendering, records.Lost)
	if err := c.record(p, pinnedSet("b")); err != nil ||
		len(c.secretsOf(records.Rendering)) != 1 {
		t.Errorf("Record of a lost pinned rendering returned %v", err)
	}
	if err := c.record(p, Set{}); err != nil || p.Status.RenderedSet != "" ||
		len(c.Secrets) > 0 {
		t.Errorf("End for the pinned rendering returned %v, and %d Secrets remain", err, len(c.Secrets))
	}
}

// begin loads the component and begins a pass over it.
func (c *cluster) begin() *part {
	c.t.Helper()
	p := c.load()
	c.passes.Begin(app).Loaded(p)
	return p
}

// record makes the part of a pass that records a rendering; see reconcile.ComponentRecord.
func (c *cluster) record(p *part, set Set) error {
	c.t.Helper()
	pinned, previous := c.store.Pinned(), p.Status.RenderedSet
	err := pinned.Record(c.t.Context(), p, c.owner(), set)
	if err == nil {
		err = pinned.Name(c.t.Context(), p, previous)
	}
	if err != nil {
		pinned.Withdraw(p, previous)
		return err
	}
	return pinned.Begun(c.t.Context(), p, c.owner(), set)
}

// pin makes the part of a pass that records a rendering.
func (c *cluster) pin(id string) error {
	c.t.Helper()
	return c.record(c.begin(), pinnedSet(id))
}

// renderings returns the ids of the recorded renderings.
func (c *cluster) renderings() []string {
	c.t.Helper()
	names := c.secretsOf(records.Rendering)
	for i := range names {
		names[i] = records.IDOf(names[i])
	}
	return names
}

// found reports all Secrets as unnamed, as the garbage collection does after a start.
func (c *cluster) found() {
	for _, secret := range c.All() {
		c.states.Of(app).Records.AddUnnamedSecret(secret)
	}
}

// recall restarts the process, which then reads a recorded rendering.
func (c *cluster) recall(id string) {
	c.restart()
	c.states.Of(app).Records.SetID(records.Rendering, id)
	c.found()
}

var errCrash = errors.New("the process ends here")

func TestACrashBeforeTheStatusNamesARendering(t *testing.T) {
	for name, test := range map[string]struct {
		// next is the rendering of the next process.
		next string
		want []string
	}{
		"keeps both records while the status names the previous one": {"r5", []string{"r5", "r6"}},
		"leaves no record when a later one is named":                 {"r6b", []string{"r6b"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c := newCluster(t)
			g.Expect(c.pin("r5")).To(Succeed())
			c.beforeStatus = func() error { return errCrash }
			g.Expect(c.pin("r6")).To(MatchError(errCrash))
			g.Expect(c.load().Status.RenderedSet).To(Equal("r5"))
			g.Expect(c.renderings()).To(ConsistOf("r5", "r6"))

			c.beforeStatus = nil
			c.recall("r5")
			g.Expect(c.pin(test.next)).To(Succeed())
			g.Expect(c.load().Status.RenderedSet).To(Equal(test.next))
			g.Expect(c.renderings()).To(ConsistOf(test.want))
		})
	}
}

func TestACrashBeforeThePreviousRenderingIsDeleted(t *testing.T) {
	g := NewWithT(t)
	c := newCluster(t)
	g.Expect(c.pin("r5")).To(Succeed())
	c.Refuse = func(verb, _ string) error {
		if verb == "delete" {
			return errCrash
		}
		return nil
	}
	g.Expect(c.pin("r6")).NotTo(Succeed())
	g.Expect(c.load().Status.RenderedSet).To(Equal("r6"))
	g.Expect(c.renderings()).To(ConsistOf("r5", "r6"))

	c.Refuse = nil
	c.recall("r6")
	g.Expect(c.pin("r6")).To(Succeed())
	g.Expect(c.renderings()).To(ConsistOf("r6"))
}

func TestACrashBeforeTheFirstRenderingIsWritten(t *testing.T) {
	g := NewWithT(t)
	c := newCluster(t)
	c.Refuse = func(verb, _ string) error {
		if verb == "patch" {
			return errCrash
		}
		return nil
	}
	g.Expect(c.pin("r1")).NotTo(Succeed())
	g.Expect(c.load().Status.RenderedSet).To(Equal("r1"))

	c.Refuse = nil
	c.restart()
	g.Expect(c.pin("r1b")).To(Succeed())
	g.Expect(c.load().Status.RenderedSet).To(Equal("r1b"))
	g.Expect(c.renderings()).To(ConsistOf("r1b"))
}

// other returns another operator process for the same component. Its writes of the status call beforeStatus of c.
func (c *cluster) other() *cluster {
	another := *c
	another.restart()
	return &another
}

func TestOfTwoOperatorsThatRecordARenderingOneNamesIt(t *testing.T) {
	g := NewWithT(t)
	a := newCluster(t)
	b := a.other()
	g.Expect(a.pin("r5")).To(Succeed())
	p := a.begin()
	g.Expect(b.pin("theirs")).To(Succeed())
	g.Expect(b.renderings()).To(ConsistOf("theirs"))

	err := a.record(p, pinnedSet("ours"))
	g.Expect(passerror.Interrupted(err)).To(BeTrue(), "got %v", err)
	g.Expect(a.load().Status.RenderedSet).To(Equal("theirs"))
	g.Expect(a.renderings()).To(ConsistOf("ours", "theirs"))

	// The next pass reads the record that the status names.
	a.states.Of(app).Records.SetID(records.Rendering, "theirs")
	g.Expect(a.pin("theirs")).To(Succeed())
	g.Expect(a.renderings()).To(ConsistOf("theirs"))
	g.Expect(b.pin("theirs")).To(Succeed())
	g.Expect(b.renderings()).To(ConsistOf("theirs"))
}

func TestAnOutdatedOperatorDeletesNoRenderingOfAnother(t *testing.T) {
	g := NewWithT(t)
	a := newCluster(t)
	b := a.other()
	g.Expect(a.pin("r5")).To(Succeed())
	p := a.begin()
	g.Expect(b.pin("r6")).To(Succeed())
	g.Expect(b.pin("r7")).To(Succeed())
	a.found()
	err := a.record(p, pinnedSet("r5"))
	g.Expect(passerror.Interrupted(err)).To(BeTrue(), "got %v", err)
	g.Expect(a.renderings()).To(ConsistOf("r7"))
}

func TestNoRenderingStaysRecordedIfItIsDeterministic(t *testing.T) {
	g := NewWithT(t)
	c := newCluster(t)
	g.Expect(c.pin("r5")).To(Succeed())
	p, written := c.begin(), c.statuses
	g.Expect(c.record(p, Set{})).To(Succeed())
	g.Expect(c.renderings()).To(BeEmpty())
	g.Expect(c.load().Status.RenderedSet).To(BeEmpty())
	g.Expect(c.statuses).To(Equal(written + 1))
	c.Requests = nil
	g.Expect(c.record(p, Set{})).To(Succeed())
	g.Expect(c.Requests).To(BeEmpty())
	g.Expect(c.statuses).To(Equal(written + 1))
}

func TestACrashBeforeTheRenderingOfADeterministicComponentIsDeleted(t *testing.T) {
	g := NewWithT(t)
	c := newCluster(t)
	g.Expect(c.pin("r5")).To(Succeed())
	c.Refuse = func(verb, _ string) error {
		if verb == "delete" {
			return errCrash
		}
		return nil
	}
	g.Expect(c.record(c.begin(), Set{})).NotTo(Succeed())
	g.Expect(c.renderings()).To(ConsistOf("r5"))
	g.Expect(c.load().Status.RenderedSet).To(BeEmpty())

	c.Refuse = nil
	c.restart()
	c.found()
	g.Expect(c.record(c.begin(), Set{})).To(Succeed())
	g.Expect(c.renderings()).To(BeEmpty())
}

// The rendering of the operator that tests begin as a is deterministic, because it has other inputs than b.
func TestADeterministicRenderingDeletesNoRecordOfAnotherOperator(t *testing.T) {
	for name, test := range map[string]struct {
		// before and later are the renderings that the other operator records before and after a loads the component.
		before, later []string
		want          []string
	}{
		"the status of a is outdated":                      {[]string{"r5"}, []string{"r6"}, []string{"r6"}},
		"the status of a is outdated, and names no record": {nil, []string{"r1"}, []string{"r1"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			a := newCluster(t)
			b := a.other()
			for _, id := range test.before {
				g.Expect(b.pin(id)).To(Succeed())
			}
			p := a.begin()
			for _, id := range test.later {
				g.Expect(b.pin(id)).To(Succeed())
			}
			a.found()
			err := a.record(p, Set{})
			g.Expect(passerror.Interrupted(err)).To(BeTrue(), "got %v", err)
			g.Expect(a.renderings()).To(ConsistOf(test.want))
			g.Expect(a.load().Status.RenderedSet).To(Equal(test.want[0]))
		})
	}
}

func TestARenderingIsNotNamedAfterADeterministicOneDeletedIt(t *testing.T) {
	g := NewWithT(t)
	a := newCluster(t)
	b := a.other()
	g.Expect(a.pin("r5")).To(Succeed())
	p := a.begin()
	// Before b writes the status that names its record, a deletes all records.
	a.beforeStatus = func() error {
		a.beforeStatus = nil
		return a.record(p, Set{})
	}
	err := b.pin("r6")
	g.Expect(passerror.Interrupted(err)).To(BeTrue(), "got %v", err)
	g.Expect(a.renderings()).To(BeEmpty())
	g.Expect(a.load().Status.RenderedSet).To(BeEmpty())
}

func TestADelayedOperatorDeletesNoRenderingOfAnother(t *testing.T) {
	g := NewWithT(t)
	a := newCluster(t)
	b := a.other()
	g.Expect(a.pin("r5")).To(Succeed())
	var failure error
	a.Refuse = func(verb, _ string) error {
		if verb != "list" {
			return nil
		}
		// The status names the record of a. Before a lists the records, the other operator has written two more.
		a.Refuse = nil
		g.Expect(b.pin("r7")).To(Succeed())
		a.beforeStatus = func() error { return errCrash }
		failure = b.pin("r8")
		a.beforeStatus = nil
		return nil
	}
	err := a.pin("r6")
	g.Expect(failure).To(MatchError(errCrash))
	g.Expect(passerror.Interrupted(err)).To(BeTrue(), "got %v", err)
	g.Expect(a.renderings()).To(ConsistOf("r7", "r8"))
}

func TestTheStatusNamesThePreviousRenderingIfItCannotBeWritten(t *testing.T) {
	g := NewWithT(t)
	c := newCluster(t)
	for _, previous := range []string{"", "r5"} {
		if previous != "" {
			g.Expect(c.pin(previous)).To(Succeed())
		}
		p := c.begin()
		c.beforeStatus = func() error { return errCrash }
		for _, id := range []string{"r6", ""} {
			err := c.record(p, Set{ID: id, Manifests: pinnedSet(id).Manifests})
			if id != previous {
				g.Expect(err).To(MatchError(errCrash))
			}
			g.Expect(p.Status.RenderedSet).To(Equal(previous), "the report of this pass writes it")
		}
		c.beforeStatus = nil
	}
}

// sealedSet returns a rendering whose id proves its record.
func sealedSet(t *testing.T) Set {
	t.Helper()
	set := pinnedSet("ConfigMap")
	bodies, _ := set.Manifests()
	parts, err := records.Encode(records.Rendering, bodies)
	if err == nil {
		set.ID, set.Proof, err = records.NewProof(records.UsePinned, records.Header{Inputs: "inputs"}, parts)
	}
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestAFoundRenderingIsReplacedByAProvenOne(t *testing.T) {
	g := NewWithT(t)
	c := newCluster(t)
	c.writeRecord(records.Rendering, "evil")
	c.edit(func(st *metav1alpha1.Status) { st.RenderedSet = records.Found("evil") })
	set := sealedSet(t)
	g.Expect(c.record(c.begin(), set)).To(Succeed())
	g.Expect(c.load().Status.RenderedSet).To(Equal(set.ID))
	g.Expect(c.renderings()).To(ConsistOf(set.ID))
	var bodies []*unstructured.Unstructured
	_, err := c.store.Records.Read(t.Context(), c.owner(), records.Rendering, set.ID, &bodies)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(bodies).To(HaveLen(1))
}

// The status may name a planted record, and another one may have the only copy of the values.
func TestNoRecordIsDeletedWhileTheStatusNamesAFoundRendering(t *testing.T) {
	g := NewWithT(t)
	c := newCluster(t)
	c.writeRecord(records.Rendering, "genuine")
	c.writeRecord(records.Rendering, "evil")
	c.edit(func(st *metav1alpha1.Status) { st.RenderedSet = records.Found("evil") })
	c.found()
	set := sealedSet(t)
	c.Refuse = func(verb, _ string) error {
		if verb == "patch" {
			return errCrash
		}
		return nil
	}
	g.Expect(c.record(c.begin(), set)).NotTo(Succeed())
	g.Expect(c.renderings()).To(ConsistOf("genuine", "evil"))

	c.Refuse, c.beforeStatus = nil, func() error { return errCrash }
	g.Expect(c.record(c.begin(), set)).NotTo(Succeed())
	g.Expect(c.renderings()).To(ConsistOf("genuine", "evil", set.ID))

	c.beforeStatus = nil
	g.Expect(c.record(c.begin(), set)).To(Succeed())
	g.Expect(c.renderings()).To(ConsistOf(set.ID))
}

func TestAFoundRenderingThatThisProcessMadeIsWrittenAgain(t *testing.T) {
	g := NewWithT(t)
	c := newCluster(t)
	set := sealedSet(t)
	g.Expect(c.record(c.begin(), set)).To(Succeed())
	c.edit(func(st *metav1alpha1.Status) { st.RenderedSet = records.Found(set.ID) })
	g.Expect(c.record(c.begin(), set)).To(Succeed())
	g.Expect(c.load().Status.RenderedSet).To(Equal(set.ID))
	g.Expect(c.renderings()).To(ConsistOf(set.ID))
}

// Another version of the operator may compress the same manifests to other bytes.
func TestALostRenderingWithOtherBytesGetsAnotherID(t *testing.T) {
	g := NewWithT(t)
	c := newCluster(t)
	set := sealedSet(t)
	set.Manifests = pinnedSet("Secret").Manifests
	g.Expect(c.record(c.begin(), set)).To(Succeed())
	named := c.load().Status.RenderedSet
	g.Expect(named).NotTo(Equal(set.ID))
	g.Expect(records.IsProven(named)).To(BeTrue())
	var bodies []*unstructured.Unstructured
	_, err := c.store.Records.Read(t.Context(), c.owner(), records.Rendering, named, &bodies)
	g.Expect(err).NotTo(HaveOccurred())
}

func TestAWithdrawnRenderingIsDeletedBeforeTheNextOneIsWritten(t *testing.T) {
	g := NewWithT(t)
	c := newCluster(t)
	g.Expect(c.pin("r5")).To(Succeed())
	// withdraw makes a pass in which something else cannot be stored that the rendering needs.
	withdraw := func(id string) {
		p := c.begin()
		pinned, previous := c.store.Pinned(), p.Status.RenderedSet
		g.Expect(pinned.Record(t.Context(), p, c.owner(), pinnedSet(id))).To(Succeed())
		pinned.Withdraw(p, previous)
		g.Expect(p.Status.RenderedSet).To(Equal("r5"))
	}
	for _, id := range []string{"r6", "r6", "r7", "r8"} {
		withdraw(id)
		g.Expect(c.renderings()).To(ConsistOf("r5", id))
		g.Expect(c.load().Status.RenderedSet).To(Equal("r5"))
	}
	c.states.Of(app).Records.SetID(records.Rendering, "r5")
	g.Expect(c.pin("r5")).To(Succeed(), "the inputs are those of r5 again")
	g.Expect(c.renderings()).To(ConsistOf("r5"))

	withdraw("r6")
	g.Expect(c.pin("r6")).To(Succeed())
	g.Expect(c.renderings()).To(ConsistOf("r6"))
}

// The response to a write of the status may be lost, and the cache may have the status from before.
func TestAWithdrawnRenderingThatTheStatusNamesIsNotDeleted(t *testing.T) {
	g := NewWithT(t)
	c := newCluster(t)
	g.Expect(c.pin("r5")).To(Succeed())
	p := c.begin()
	pinned := c.store.Pinned()
	g.Expect(pinned.Record(t.Context(), p, c.owner(), pinnedSet("r6"))).To(Succeed())
	c.edit(func(st *metav1alpha1.Status) { st.RenderedSet = "r6" })
	pinned.Withdraw(p, "r5")
	c.states.Of(app).Records.SetID(records.Rendering, "r5")
	err := c.record(p, pinnedSet("r5"))
	g.Expect(passerror.Interrupted(err)).To(BeTrue(), "got %v", err)
	g.Expect(c.renderings()).To(ConsistOf("r5", "r6"))

	c.states.Of(app).Records.SetID(records.Rendering, "r6")
	g.Expect(c.pin("r6")).To(Succeed())
	g.Expect(c.renderings()).To(ConsistOf("r6"))
}
