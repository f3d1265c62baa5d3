package records

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

func TestTheSecretsThatAStatusNamesAreOwned(t *testing.T) {
	for name, c := range map[string]struct {
		status metav1alpha1.Status
		want   []Kind
	}{
		"nothing":            {},
		"unknown phases":     {metav1alpha1.Status{PhaseRecord: PhasesUnknown}, nil},
		"pending phases":     {metav1alpha1.Status{PhaseRecord: PhasesPending}, []Kind{Phases}},
		"a pinned rendering": {metav1alpha1.Status{RenderedSet: "a"}, []Kind{Rendering}},
		"an inventory":       {metav1alpha1.Status{InventoryRecord: &metav1alpha1.InventoryRecord{}}, []Kind{Inventory}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := OwnedBy("uid", &c.status); !slices.Equal(got.Kinds, c.want) {
				t.Errorf("OwnedBy returned the kinds of records %v", got.Kinds)
			}
		})
	}
}

func TestTheSecretsOfADeletedComponentAreReleasedOnce(t *testing.T) {
	cluster, s := newCluster(t)
	m := &State{}
	cluster.addKubeconfig("config", s.Marks.ownerFinalizer(owner("app")))
	write(t, s, owner("app"), Phases, "a")
	cluster.addKubeconfig("credentials", s.Marks.ownerFinalizer(owner("app")))
	owned := OwnedBy("former", &metav1alpha1.Status{PhaseRecord: "a", TargetSecret: "config"})
	owned.Credentials = []string{"credentials"}
	m.SetOwned(owned)
	if _, ok := m.LeftBy("former"); ok {
		t.Error("LeftBy reports Secrets of a component that still exists")
	}
	m.SetOwned(OwnedBy("successor", &metav1alpha1.Status{}))
	left, ok := m.LeftBy("successor")
	if !ok {
		t.Fatal("the Secrets of the deleted component are no longer in memory")
	}
	cluster.Refuse = func(verb, _ string) error {
		if verb == "list" {
			return forbidden()
		}
		return nil
	}
	if err := s.Remover.Release(t.Context(), m, owner("app"), left); err == nil {
		t.Error("Release returns no error although the operator lacks a right")
	}
	cluster.Refuse = nil
	if err := s.Remover.Release(t.Context(), m, owner("app"), left); err != nil {
		t.Fatal(err)
	}
	if _, ok := m.LeftBy("successor"); ok || !slices.Equal(cluster.Names("shop"), []string{"config", "credentials"}) {
		t.Errorf("the Secrets of the deleted component remain, or other Secrets were deleted: %q", cluster.Names("shop"))
	}
	for _, secret := range cluster.All() {
		if len(secret.Finalizers) > 0 {
			t.Errorf("the Secret %s still has the finalizers %q", secret.Name, secret.Finalizers)
		}
	}
}

func TestTheLastRecordOfEachKindIsRemembered(t *testing.T) {
	m := &State{}
	m.SetID(Phases, "a")
	m.SetID(Phases, "b")
	if m.ID(Phases) != "b" || m.ID(Rendering) != "" {
		t.Errorf("the memory has the phase record %q and the pinned rendering %q, want b and none", m.ID(Phases),
			m.ID(Rendering))
	}
}

func TestUnnamedSecretsAreRememberedByKind(t *testing.T) {
	m := &State{}
	secret := func(kind Kind, id string) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Name: secretName(kind, "owner", id, 0),
			UID:  types.UID(id),
		}}
	}
	for _, s := range []*metav1.PartialObjectMetadata{
		secret(Rendering, "a"), secret(Inventory, "a"), secret(Inventory, "b"),
	} {
		m.AddUnnamedSecret(s)
	}
	unnamed := m.UnnamedInventories()
	if m.evidenceOf(Rendering) != seen || m.evidenceOf(Phases) != noEvidence || len(unnamed) != 2 {
		t.Errorf("got %d inventories, renderings %v, phases %v", len(unnamed), m.evidenceOf(Rendering), m.evidenceOf(Phases))
	}
	m.AddUnnamedSecret(secret(Inventory, "c"))
	m.MarkStale(unnamed, func(s metav1.Object) bool { return IDOf(s.GetName()) == "b" })
	if stale := m.staleSecrets(); len(stale) != 1 || IDOf(stale[0].Name) != "b" {
		t.Errorf("the memory has the stale Secrets %v, want only b", stale)
	}
	if rest := m.UnnamedInventories(); len(rest) != 1 || IDOf(rest[0].Name) != "c" {
		t.Errorf("these inventories are still reported as not named by a status: %v", rest)
	}
}

func TestALateEventOfADeletedInventoryIsIgnored(t *testing.T) {
	secret := func(uid types.UID) metav1.PartialObjectMetadata {
		return metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Name: secretName(Inventory, "owner", "a", 0),
			UID:  uid,
		}}
	}
	old, recreated := secret("1"), secret("2")
	m := &State{}
	m.AddUnnamedSecret(&old)
	m.AddStale([]metav1.PartialObjectMetadata{old})
	m.AddUnnamedSecret(&old)
	if left := m.UnnamedInventories(); len(left) > 0 {
		t.Errorf("a Secret that is about to be deleted is reported: %v", left)
	}
	m.staleDeleted([]metav1.PartialObjectMetadata{old})
	m.AddUnnamedSecret(&old)
	if left := m.UnnamedInventories(); len(left) > 0 {
		t.Errorf("a Secret that was deleted is reported: %v", left)
	}
	m.AddUnnamedSecret(&recreated)
	if left := m.UnnamedInventories(); len(left) != 1 {
		t.Errorf("another Secret with the same name is not reported: %v", left)
	}
}
