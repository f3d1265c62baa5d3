package records

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestTheQueueHoldsEachSecretThatIsThereOnceInItsLastVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(nil)
		secret := func(name, version string) *metav1.PartialObjectMetadata {
			return &metav1.PartialObjectMetadata{
				ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, ResourceVersion: version},
			}
		}
		q.Updated(secret("a", "1"), secret("b", "2"), secret("deleted", "3"))
		q.Updated(secret("a", "4"))
		q.Deleted(secret("deleted", "5"))
		g := NewWithT(t)
		taken := q.take(t.Context())
		g.Expect(taken.all()).To(ConsistOf(secret("a", "4"), secret("b", "2")))
		g.Expect(taken.deleted).To(BeEmpty(), "the Secret is no record")
		g.Expect(taken.listed).To(BeEmpty())

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		g.Expect(q.take(ctx).all()).To(BeEmpty())
	})
}

func TestSecretsThatAreCheckedAgainDoNotReplaceNewerOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		secret := func(name, version string) *metav1.PartialObjectMetadata {
			m := &metav1.PartialObjectMetadata{}
			m.Name, m.ResourceVersion = "phases-"+strings.Repeat("0", 40)+"-"+name+"-0", version
			return m
		}
		q := newQueue(func(string) {})
		q.later(time.Minute, nil)
		q.later(time.Minute, []*metav1.PartialObjectMetadata{secret("a", "1"), secret("b", "1"), secret("c", "1")})
		time.Sleep(time.Minute - time.Millisecond)
		q.Updated(secret("a", "2"))
		q.Deleted(secret("b", "2"))
		taken := q.take(t.Context())
		g.Expect(taken.all()).To(ConsistOf(secret("a", "2"), secret("c", "1")))
		g.Expect(slices.Collect(maps.Values(taken.deleted))).To(ConsistOf(secret("b", "2")))
	})
}

func TestSecretsThatABackupMayHaveBroughtBackAreLeftAloneForAWhile(t *testing.T) {
	cluster, s := newCluster(t)
	cluster.clock.SetTime(start.Add(90 * time.Minute))
	c := Collector{Store: s, Started: start}
	secret := func(name string, came time.Time, deleting bool) *metav1.PartialObjectMetadata {
		m := &metav1.PartialObjectMetadata{
			ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(came)},
		}
		if deleting {
			m.DeletionTimestamp = new(metav1.NewTime(came))
		}
		return m
	}
	settled, young := c.byAge([]*metav1.PartialObjectMetadata{
		secret("before the start", start.Add(-time.Minute), false),
		secret("just now", start.Add(89*time.Minute), false),
		secret("just now, and being deleted", start.Add(89*time.Minute), true),
		secret("long ago", start.Add(time.Minute), false),
	})
	g := NewWithT(t)
	g.Expect(young).To(ConsistOf(HaveField("Name", "just now")))
	g.Expect(settled).To(ConsistOf(
		HaveField("Name", "before the start"), HaveField("Name", "just now, and being deleted"),
		HaveField("Name", "long ago")))
}

// components implements Components.
type components struct {
	cached map[string]Component
	live   []types.NamespacedName
	lists  []string
	refuse error
	// refusals are the errors of the first lists, before refuse is returned.
	refusals []error
	unnamed  []string
	lost     []string
}

func (c *components) Cached(context.Context) (map[string]Component, error) { return c.cached, nil }

func (c *components) Identity(context.Context) (manifests.Owner, error) {
	identity := owner("")
	identity.Namespace = ""
	return identity, nil
}

func (c *components) Live(_ context.Context, namespace string) ([]types.NamespacedName, error) {
	c.lists = append(c.lists, namespace)
	if len(c.refusals) > 0 {
		err := c.refusals[0]
		c.refusals = c.refusals[1:]
		return nil, err
	}
	return c.live, c.refuse
}

func (c *components) Unnamed(_ types.NamespacedName, secret *metav1.PartialObjectMetadata) {
	c.unnamed = append(c.unnamed, secret.Name)
}

func (c *components) Lost(component types.NamespacedName, kind Kind) {
	c.lost = append(c.lost, component.Name+" "+string(kind))
}

func TestSecretsOfDeletedComponentsAreCollected(t *testing.T) {
	g := NewWithT(t)
	cluster, s := newCluster(t)
	cached, live, deleted := owner("cached"), owner("live"), owner("deleted")
	elsewhere, otherKind := owner("deleted"), owner("deleted")
	elsewhere.Cluster, otherKind.Kind = "there", "Other"
	var kept []string
	for _, o := range []manifests.Owner{cached, live, elsewhere, otherKind} {
		kept = append(kept, write(t, s, o, Phases, "a"))
	}
	write(t, s, deleted, Phases, "a")
	write(t, s, deleted, Inventory, "b")
	shared := cluster.addKubeconfig("config", s.Marks.ownerFinalizer(live), s.Marks.ownerFinalizer(deleted))
	known := &components{
		cached: map[string]Component{cached.ID(): {
			Name:   types.NamespacedName{Namespace: "shop", Name: "cached"},
			Status: &metav1alpha1.Status{PhaseRecord: "a"},
		}},
		live: []types.NamespacedName{{Namespace: "shop", Name: "cached"}, {Namespace: "shop", Name: "live"}},
	}
	c := Collector{Store: s, Components: known, Namespaces: []string{""}, Started: start}
	g.Expect(c.collect(t.Context(), batch{}, cluster.All())).To(Succeed())
	g.Expect(cluster.Names("shop")).To(ConsistOf(append(kept, "config")))
	g.Expect(shared.GetFinalizers()).To(Equal([]string{s.Marks.ownerFinalizer(live)}))
	g.Expect(known.lists).To(HaveLen(1))
	g.Expect(known.unnamed).To(BeEmpty())
}

func TestRecordsWithEditedMarksAreReleasedWhenSomebodyDeletesThem(t *testing.T) {
	for name, edit := range map[string]func(s *Store, secret *metav1.PartialObjectMetadata){
		"without the label": func(s *Store, secret *metav1.PartialObjectMetadata) {
			delete(secret.Labels, s.Marks.name(LabelRecord))
		},
		"with another label": func(s *Store, secret *metav1.PartialObjectMetadata) {
			secret.Labels[s.Marks.name(LabelRecord)] = owner("live").ID()
		},
		"without the annotation": func(s *Store, secret *metav1.PartialObjectMetadata) {
			delete(secret.Annotations, s.Marks.name(annotationOwner))
		},
		"with another annotation": func(s *Store, secret *metav1.PartialObjectMetadata) {
			secret.Annotations[s.Marks.name(annotationOwner)] = owner("live").String()
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			cluster, s := newCluster(t)
			deleted, live := write(t, s, owner("deleted"), Phases, "a"), write(t, s, owner("live"), Phases, "a")
			c := Collector{Store: s, Namespaces: []string{""}, Started: start, Components: &components{
				live: []types.NamespacedName{{Namespace: "shop", Name: "live"}},
			}}
			secrets := cluster.All()
			for _, secret := range secrets {
				edit(s, secret)
				secret.DeletionTimestamp = new(metav1.NewTime(start))
			}
			g.Expect(c.collect(t.Context(), batch{}, secrets)).To(Succeed())
			g.Expect(cluster.Names("shop")).To(Equal([]string{live}), "want only %s released", deleted)
		})
	}
}

// externals stores a Secret of the kind Externals, and returns its name.
func externals(t *testing.T, c *cluster, s *Store, o manifests.Owner, number, left int) string {
	t.Helper()
	secret := s.Externals(t.Context(), o, ExternalsSecret{Number: number, Index: []byte("{}"), Left: left})
	secrets := s.Dynamic.Resource(secretResource).Namespace("shop")
	if _, err := secrets.Create(t.Context(), secret, metav1.CreateOptions{FieldManager: reconciler}); err != nil {
		t.Fatal(err)
	}
	if stored := c.secret(secret.GetName()); !s.Marks.IsIntact(stored) || !s.Marks.IsMarked(stored, o) {
		t.Errorf("Secret %s has no valid digest, or other marks", secret.GetName())
	}
	return secret.GetName()
}

func TestRecordsOfExternalsThatStillExistAreNotCollected(t *testing.T) {
	g := NewWithT(t)
	cluster, s := newCluster(t)
	cached, live, deleted := owner("cached"), owner("live"), owner("deleted")
	kept := []string{
		externals(t, cluster, s, cached, 0, 0), externals(t, cluster, s, live, 0, 0),
		externals(t, cluster, s, deleted, 0, 1),
	}
	edited := externals(t, cluster, s, deleted, 1, 0)
	cluster.secret(edited).SetAnnotations(map[string]string{s.Marks.name(annotationOwner): deleted.String()})
	externals(t, cluster, s, deleted, 2, 0)
	restored := externals(t, cluster, s, deleted, 3, 0)
	cluster.secret(restored).SetManagedFields(nil)
	ended := externals(t, cluster, s, deleted, 4, 7)
	endedLive := externals(t, cluster, s, live, 1, 7)
	for _, name := range []string{ended, endedLive} {
		cluster.secret(name).SetDeletionTimestamp(new(metav1.NewTime(start)))
	}
	known := &components{
		cached: map[string]Component{cached.ID(): {Status: &metav1alpha1.Status{}}},
		live:   []types.NamespacedName{{Namespace: "shop", Name: "cached"}, {Namespace: "shop", Name: "live"}},
	}
	c := Collector{Store: s, Components: known, Namespaces: []string{""}, Started: start}
	g.Expect(c.collect(t.Context(), batch{}, cluster.All())).To(Succeed())
	g.Expect(cluster.Names("shop")).To(ConsistOf(append(kept, edited, endedLive)))
	g.Expect(cluster.secret(endedLive).GetFinalizers()).To(ConsistOf(s.Marks.finalizer()))
	g.Expect(known.unnamed).To(ConsistOf(kept[0]), "no status names the states of externals")
}

func TestFinalizersOfRecordsOfExternals(t *testing.T) {
	_, s := newCluster(t)
	for _, test := range []struct {
		name    string
		allowed bool
		e       ExternalsSecret
		want    []string
	}{
		{"a new record", true, ExternalsSecret{}, []string{s.Marks.finalizer()}},
		{
			"the finalizers of others stay", true,
			ExternalsSecret{Finalizers: []string{s.Marks.finalizer(), "other"}},
			[]string{"other", s.Marks.finalizer()},
		},
		{"without the right", false, ExternalsSecret{Finalizers: []string{s.Marks.finalizer(), "other"}}, []string{"other"}},
		{
			"a record that is being deleted", true,
			ExternalsSecret{Finalizers: []string{"other"}, IsDeleted: true},
			[]string{"other"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, s := newCluster(t)
			c.Allowed = test.allowed
			NewWithT(t).Expect(s.Externals(t.Context(), owner("app"), test.e).GetFinalizers()).To(Equal(test.want))
		})
	}
}

func TestNumbersOfRecordsOfExternals(t *testing.T) {
	id := owner("app").ID()
	for name, want := range map[string]int{
		ExternalsName(id, 0): 0, ExternalsName(id, 12): 12, "externals-" + id + "-99999999999999999999": -1, "externals": -1,
	} {
		if got := NumberOf(name); got != want {
			t.Errorf("NumberOf(%q) is %d, want %d", name, got, want)
		}
	}
}

func TestNothingIsListedWhileEachSecretHasAComponentInTheCache(t *testing.T) {
	g := NewWithT(t)
	cluster, s := newCluster(t)
	app := owner("app")
	write(t, s, app, Phases, "named")
	unnamed := []string{write(t, s, app, Phases, "b"), write(t, s, app, Rendering, "b"), write(t, s, app, Inventory, "b")}
	named := write(t, s, app, Inventory, "named")
	cluster.addKubeconfig("config", s.Marks.ownerFinalizer(app))
	record := metav1alpha1.InventoryRecord{Namespace: "shop", Name: NamePrefix(Inventory, app.ID(), "named"), Parts: 1}
	known := &components{cached: map[string]Component{app.ID(): {
		Status: &metav1alpha1.Status{PhaseRecord: "named", InventoryRecord: &record},
	}}}
	c := Collector{Store: s, Components: known, Namespaces: []string{""}, Started: start}
	g.Expect(c.collect(t.Context(), batch{}, cluster.All())).To(Succeed())
	g.Expect(known.lists).To(BeEmpty())
	g.Expect(known.unnamed).To(ConsistOf(unnamed))
	g.Expect(known.unnamed).NotTo(ContainElement(named))
	g.Expect(cluster.Secrets).To(HaveLen(6))
}

func TestSecretsAreNotCollectedWhereComponentsCannotBeListed(t *testing.T) {
	for _, test := range []struct {
		name       string
		namespaces []string
		refuse     error
	}{
		{"an error", []string{""}, errors.New("reset")},
		{"a refusal in all namespaces", []string{""}, forbidden()},
		{"a refusal in one of several namespaces", []string{"other", "shop"}, forbidden()},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			cluster, s := newCluster(t)
			write(t, s, owner("deleted"), Phases, "a")
			known := &components{refuse: test.refuse}
			c := Collector{Store: s, Components: known, Namespaces: test.namespaces, Started: start}
			g.Expect(c.collect(t.Context(), batch{}, cluster.All())).To(MatchError(test.refuse))
			g.Expect(cluster.Secrets).To(HaveLen(1))
			g.Expect(known.lists).To(Equal(test.namespaces[len(test.namespaces)-1:]))
		})
	}
}

func TestASecretThatCannotBeReleasedHoldsUpNoOther(t *testing.T) {
	g := NewWithT(t)
	cluster, s := newCluster(t)
	refused := write(t, s, owner("deleted"), Phases, "a")
	write(t, s, owner("deleted"), Phases, "b")
	cluster.Refuse = func(verb, name string) error {
		if name == refused && slices.Contains([]string{"patch", "delete"}, verb) {
			return forbidden()
		}
		return nil
	}
	c := Collector{Store: s, Components: &components{}, Namespaces: []string{""}, Started: start}
	g.Expect(c.collect(t.Context(), batch{}, cluster.All())).To(MatchError(ContainSubstring(refused)))
	g.Expect(cluster.Names("shop")).To(ConsistOf(refused))
	cluster.Refuse = func(verb, _ string) error {
		if verb == "patch" {
			return apierrors.NewTooManyRequestsError("later")
		}
		return nil
	}
	g.Expect(c.collect(t.Context(), batch{}, cluster.All())).NotTo(Succeed())
}

// TestARefusedRoundIsTriedAgain covers an API server that has just started and has not read the roles yet, and an
// operator without rights.
func TestARefusedRoundIsTriedAgain(t *testing.T) {
	for _, test := range []struct {
		name string
		// refusals are the answers to the first lists of the components.
		refusals []error
		// deleted says whether the Secret is deleted by the end of the round, again whether it is in the queue then.
		deleted, again bool
	}{
		{"the API server refuses at first", []error{forbidden(), forbidden()}, true, false},
		{"the operator lacks the right", repeated(forbidden(), 100), false, false},
		{"the API server does not answer", repeated(errors.New("no answer"), 100), false, true},
		{"one namespace is refused, and another does not answer", []error{
			forbidden(), errors.Join(forbidden(), errors.New("no answer")),
		}, true, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				cluster, s := newCluster(t)
				write(t, s, owner("deleted"), Phases, "a")
				known := &components{refusals: test.refusals}
				c := Collector{Store: s, Components: known, Namespaces: []string{""}, Started: start}
				q := newQueue(nil)
				q.Updated(cluster.All()...)
				c.round(t.Context(), q)
				g.Expect(cluster.Names("shop")).To(HaveLen(map[bool]int{true: 0, false: 1}[test.deleted]))
				g.Expect(q.next.secrets).To(HaveLen(map[bool]int{true: 1, false: 0}[test.again]))
			})
		})
	}
}

// repeated returns an error a number of times.
func repeated(err error, times int) []error { return slices.Repeat([]error{err}, times) }
