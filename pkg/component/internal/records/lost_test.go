package records

import (
	"errors"
	"testing"
	"testing/synctest"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestNamedRecordsThatDoNotExistAreReported(t *testing.T) {
	for _, c := range []struct {
		name   string
		status metav1alpha1.Status
		// isDeleted is set if the component is being deleted.
		isDeleted bool
		// exists are the kinds of the records with the id a that exist, and seen are those of them that the list has.
		exists, seen []Kind
		// listed is the namespace of the list, or "-" if there was none. deleted is set if the watch delivered the deletion
		// of the record of phases.
		listed  string
		deleted bool
		want    []string
	}{
		{
			name: "a list without the record of phases", status: metav1alpha1.Status{PhaseRecord: "a"},
			want: []string{"app phases"},
		},
		{
			name: "a list without the pinned rendering", status: metav1alpha1.Status{RenderedSet: "a", PhaseRecord: "a"},
			exists: []Kind{Phases}, seen: []Kind{Phases}, want: []string{"app rendered"},
		},
		{
			name: "a list with all records", status: metav1alpha1.Status{RenderedSet: "a", PhaseRecord: "a"},
			exists: []Kind{Phases, Rendering}, seen: []Kind{Phases, Rendering},
		},
		{
			name: "a record of another id in the list", status: metav1alpha1.Status{PhaseRecord: "b"},
			exists: []Kind{Phases}, seen: []Kind{Phases}, want: []string{"app phases"},
		},
		{
			name: "a record that is newer than the list", status: metav1alpha1.Status{PhaseRecord: "a"}, exists: []Kind{Phases},
		},
		{
			name: "a list of another namespace", status: metav1alpha1.Status{PhaseRecord: "a"}, listed: "other",
		},
		{
			name: "no list and no deletion", status: metav1alpha1.Status{PhaseRecord: "a"}, listed: "-",
		},
		{
			name: "a deletion", status: metav1alpha1.Status{PhaseRecord: "a"}, listed: "-", deleted: true,
			want: []string{"app phases"},
		},
		{
			name: "a deletion of a record that was written again", status: metav1alpha1.Status{PhaseRecord: "a"}, listed: "-",
			deleted: true, exists: []Kind{Phases},
		},
		{
			name: "a deletion of a previous record", status: metav1alpha1.Status{PhaseRecord: "b"}, listed: "-", deleted: true,
		},
		{
			name: "a component that is being deleted", status: metav1alpha1.Status{PhaseRecord: "a"}, isDeleted: true,
		},
		{name: "no record is named", status: metav1alpha1.Status{PhaseRecord: PhasesPending}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			cluster, s := newCluster(t)
			app := owner("app")
			seen := newBatch()
			if c.listed != "-" {
				seen.listed[c.listed] = true
			}
			for _, kind := range c.exists {
				write(t, s, app, kind, "a")
			}
			for _, secret := range cluster.All() {
				for _, kind := range c.seen {
					if kindOf(secret.Name) == kind {
						seen.secrets[types.NamespacedName{Namespace: secret.Namespace, Name: secret.Name}] = secret
					}
				}
			}
			if name := secretName(Phases, app.ID(), "a", 0); c.deleted {
				seen.deleted[types.NamespacedName{Namespace: "shop", Name: name}] = &metav1.PartialObjectMetadata{
					ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
				}
			}
			known := &components{cached: map[string]Component{app.ID(): {
				Name: types.NamespacedName{Namespace: "shop", Name: "app"}, Owner: app, Status: &c.status, IsDeleted: c.isDeleted,
			}}}
			collector := Collector{Store: s, Components: known, Namespaces: []string{""}, Started: start}
			g.Expect(collector.collect(t.Context(), seen, seen.all())).To(Succeed())
			g.Expect(known.lost).To(Equal(c.want))
		})
	}
}

func TestAFailedSearchForALostRecordStopsNothingElse(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer error
	}{
		{"the API server does not answer", errors.New("no answer")},
		{"the read is forbidden", apierrors.NewForbidden(corev1.Resource("secrets"), "phases", nil)},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			cluster, s := newCluster(t)
			app, other := owner("app"), owner("other")
			write(t, s, owner("deleted"), Phases, "a")
			refused := secretName(Phases, app.ID(), "a", 0)
			cluster.Refuse = func(_, name string) error {
				if name == refused {
					return c.answer
				}
				return nil
			}
			component := func(o manifests.Owner) Component {
				return Component{
					Name: types.NamespacedName{Namespace: "shop", Name: o.Name}, Owner: o,
					Status: &metav1alpha1.Status{PhaseRecord: "a"},
				}
			}
			known := &components{
				cached: map[string]Component{app.ID(): component(app), other.ID(): component(other)},
				live:   []types.NamespacedName{{Namespace: "shop", Name: "app"}, {Namespace: "shop", Name: "other"}},
			}
			seen := newBatch()
			seen.listed[""] = true
			collector := Collector{Store: s, Components: known, Namespaces: []string{""}, Started: start}
			err := collector.collect(t.Context(), seen, cluster.All())
			g.Expect(err).To(MatchError(c.answer))
			g.Expect(known.lost).To(Equal([]string{"other phases"}))
			g.Expect(cluster.Names("shop")).To(BeEmpty(), "the Secret of a deleted component must be released")
		})
	}
}

func TestTheQueueRemembersDeletionsAndListsUntilTheyAreChecked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		secret := func(id string) *metav1.PartialObjectMetadata {
			name := secretName(Phases, owner("app").ID(), id, 0)
			return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
		}
		q := newQueue(nil)
		q.Listed("shop", secret("a"), secret("b"))
		q.Deleted(secret("a"))
		first := q.take(t.Context())
		g.Expect(first.all()).To(ConsistOf(secret("b")))
		g.Expect(first.deleted).To(HaveLen(1))

		q.Updated(secret("a"))
		q.Deleted(secret("b"))
		q.again(first)
		second := q.take(t.Context())
		g.Expect(second.all()).To(ConsistOf(secret("a")))
		g.Expect(second.deleted).To(HaveLen(1))
		g.Expect(second.deleted).To(HaveKey(types.NamespacedName{Namespace: "shop", Name: secret("b").Name}))
		g.Expect(second.listed).To(HaveKey("shop"))
	})
}
