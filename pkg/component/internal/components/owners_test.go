package components

import (
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

func TestAStatusNamesTheClusterOfItsOwnComponentOnly(t *testing.T) {
	for name, test := range map[string]struct {
		identity string
		uid      types.UID
		want     string
	}{
		"the cluster of the component":              {identity: Identity("cluster", "a"), uid: "a", want: "cluster"},
		"no cluster after the object was restored":  {identity: Identity("cluster", "a"), uid: "b"},
		"no cluster in a new status":                {uid: "a"},
		"no cluster for a component without a UID":  {identity: "cluster/"},
		"no cluster if the UID is an owner instead": {identity: "cluster/fairlead.io/group/Kind/a", uid: "a"},
		"no cluster in an incomplete identity":      {identity: "cluster", uid: "a"},
		"no cluster in an identity without cluster": {identity: "/a", uid: "a"},
	} {
		t.Run(name, func(t *testing.T) {
			got := recordedCluster(&metav1alpha1.Status{Identity: test.identity}, test.uid)
			NewWithT(t).Expect(got).To(Equal(test.want))
		})
	}
}

func TestMemoryOfTheAssumedCluster(t *testing.T) {
	g := NewWithT(t)
	var m State
	g.Expect(m.assumeCluster("here", "")).To(BeEmpty())
	g.Expect(m.clusterAssumption()).To(Equal("here"))
	g.Expect(m.assumeCluster("there", "")).To(Equal("here"), "assumeCluster must return the id that was assumed before")
	g.Expect(m.clusterAssumption()).To(BeEmpty(), "the next pass must not repeat a wrong assumption")
	g.Expect(m.assumeCluster("there", "there")).To(BeEmpty())
	g.Expect(m.clusterAssumption()).To(BeEmpty(), "a confirmed id is not an assumption")
}

func identified(cluster string) func(*gadget) {
	return func(g *gadget) { g.Status.Identity = Identity(cluster, g.UID) }
}

func TestTheClusterIDIsAskedForOnceAndBeforeTheFirstWrite(t *testing.T) {
	g := NewWithT(t)
	c := newCluster(t, newGadget(identified("cluster")))
	owner, err := c.owners.Of(t.Context(), c.load())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(owner).To(Equal(c.owners.In("cluster", app)))
	g.Expect(owner.String()).To(ContainSubstring("Gadget"))
	g.Expect(c.owners.Known(app)).To(Equal(owner))
	g.Expect(c.asked).To(BeZero(), "a pass that writes nothing sends no request")
	held := func(g *gadget) { g.Finalizers = []string{Finalizer(reconciler)} }
	for range 2 {
		g.Expect(c.store.AddFinalizer(t.Context(), newGadget())).To(Succeed())
		g.Expect(c.store.RemoveFinalizer(t.Context(), newGadget(held))).To(Succeed())
	}
	g.Expect(c.asked).To(Equal(1))
	_, err = c.owners.Of(t.Context(), c.load())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(c.owners.Known(app)).To(Equal(owner))
	g.Expect(c.states.Of(app).clusterAssumption()).To(BeEmpty())
}

func TestAWrongClusterInTheStatusIsAConflict(t *testing.T) {
	g := NewWithT(t)
	c := newCluster(t, newGadget(identified("elsewhere")))
	owner, err := c.owners.Of(t.Context(), c.load())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(owner.Cluster).To(Equal("elsewhere"))
	g.Expect(apierrors.IsConflict(c.store.AddFinalizer(t.Context(), c.load()))).To(BeTrue())
	g.Expect(c.stored().Finalizers).To(BeEmpty())

	_, err = c.owners.Of(t.Context(), c.load())
	g.Expect(apierrors.IsConflict(err)).To(BeTrue(), "a pass that assumed the wrong cluster id must end with a conflict")
	g.Expect(c.previous).To(ConsistOf(owner))
	owner, err = c.owners.Of(t.Context(), c.load())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(owner.Cluster).To(Equal("cluster"))
}

func TestTheClusterIDIsNotAssumedInADeletionOrOfANewComponent(t *testing.T) {
	for name, edit := range map[string]func(*gadget){
		"deletion": func(g *gadget) {
			identified("elsewhere")(g)
			g.DeletionTimestamp, g.Finalizers = new(metav1.Now()), []string{"other"}
		},
		"new": func(*gadget) {},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c := newCluster(t, newGadget(edit))
			owner, err := c.owners.Of(t.Context(), c.load())
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(owner.Cluster).To(Equal("cluster"))
			g.Expect(c.asked).To(Equal(1))
		})
	}
}

func TestWithoutAnAnswerThereIsNoOwnerID(t *testing.T) {
	g := NewWithT(t)
	c := newCluster(t, newGadget())
	c.owners.options.Reader = c.server
	_, err := c.owners.Of(t.Context(), c.load())
	g.Expect(err).To(MatchError(ContainSubstring("identify the cluster")))
}
