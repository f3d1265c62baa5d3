package records

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/internal/marks"
)

// held is an inventory in a fake cluster.
type held struct {
	*cluster
	inventories Inventories
}

func newHeld(t *testing.T, lines ...string) (*held, StoredInventory) {
	t.Helper()
	c, s := newCluster(t)
	h := &held{c, Inventories{s}}
	if lines == nil {
		return h, StoredInventory{}
	}
	stored, err := h.inventories.Save(t.Context(), owner("app"), StoredInventory{}, lines, 0)
	if err != nil {
		t.Fatal(err)
	}
	return h, stored
}

func (h *held) secret() *unstructured.Unstructured {
	return h.Secrets[h.inventories.SecretOf(owner("app"))]
}

func TestAnOwnerWithoutASecretHasNoInventory(t *testing.T) {
	g := NewWithT(t)
	h, _ := newHeld(t)
	stored, err := h.inventories.Load(t.Context(), owner("app"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(stored.Exists()).To(BeFalse())
	g.Expect(h.inventories.Confirm(t.Context(), owner("app"), stored)).To(Succeed())
	g.Expect(h.inventories.Delete(t.Context(), owner("app"), stored)).To(Succeed())
}

func TestAnInventoryIsChangedInItsSecret(t *testing.T) {
	g := NewWithT(t)
	h, _ := newHeld(t, "one")
	h.secret().SetLabels(merged(h.secret().GetLabels(), map[string]string{"theirs": "kept"}))
	h.secret().SetFinalizers(append(h.secret().GetFinalizers(), "theirs/finalizer"))
	h.Add(h.secret())
	stored, err := h.inventories.Load(t.Context(), owner("app"))
	g.Expect(err).NotTo(HaveOccurred())
	stored, err = h.inventories.Save(t.Context(), owner("app"), stored, []string{"one", "two"}, 0)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(h.Names("shop")).To(HaveLen(1))
	g.Expect(IsName(h.Names("shop")[0])).To(BeTrue(), "no dependent may have the name of the Secret")
	g.Expect(h.secret().GetFinalizers()).To(ConsistOf(reconciler+"/finalizer", "theirs/finalizer"))
	g.Expect(h.secret().GetLabels()).To(And(HaveKey("theirs"), HaveKey(reconciler+"/"+LabelRecord)))
	g.Expect(h.secret().GetLabels()).NotTo(HaveKey(reconciler+"/"+marks.LabelHeld),
		"the Collector would delete the Secret")
	g.Expect(h.inventories.Confirm(t.Context(), owner("app"), stored)).To(Succeed())
	again, err := h.inventories.Load(t.Context(), owner("app"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(again.Lines).To(Equal([]string{"one", "two"}))
	g.Expect(h.inventories.Delete(t.Context(), owner("app"), stored)).To(Succeed())
	g.Expect(h.Names("shop")).To(BeEmpty())
}

func TestAnInventoryThatIsBeingDeletedGetsNoFinalizer(t *testing.T) {
	g := NewWithT(t)
	h, _ := newHeld(t, "one")
	h.secret().SetDeletionTimestamp(new(metav1.Now()))
	h.secret().SetFinalizers([]string{"theirs/finalizer"})
	stored, err := h.inventories.Load(t.Context(), owner("app"))
	g.Expect(err).NotTo(HaveOccurred())
	_, err = h.inventories.Save(t.Context(), owner("app"), stored, []string{"two"}, 0)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(h.secret().GetFinalizers()).To(ConsistOf("theirs/finalizer"))
}

func TestOfTwoProcessesOnlyOneWrites(t *testing.T) {
	for name, test := range map[string]struct {
		lines  []string
		second func(h *held, previous StoredInventory) error
	}{
		"the first inventory": {nil, func(h *held, previous StoredInventory) error {
			_, err := h.inventories.Save(t.Context(), owner("app"), previous, []string{"second"}, 0)
			return err
		}},
		"a later inventory": {[]string{"one"}, func(h *held, previous StoredInventory) error {
			_, err := h.inventories.Save(t.Context(), owner("app"), previous, []string{"second"}, 0)
			return err
		}},
		"an inventory that the other process deleted": {[]string{"one"}, func(h *held, previous StoredInventory) error {
			delete(h.Secrets, h.inventories.SecretOf(owner("app")))
			_, err := h.inventories.Save(t.Context(), owner("app"), previous, []string{"second"}, 0)
			return err
		}},
		"a confirmation": {[]string{"one"}, func(h *held, previous StoredInventory) error {
			return h.inventories.Confirm(t.Context(), owner("app"), previous)
		}},
		"a confirmation of an owner that had no Secret": {nil, func(h *held, previous StoredInventory) error {
			return h.inventories.Confirm(t.Context(), owner("app"), previous)
		}},
		"a confirmation of a deleted Secret": {[]string{"one"}, func(h *held, previous StoredInventory) error {
			delete(h.Secrets, h.inventories.SecretOf(owner("app")))
			return h.inventories.Confirm(t.Context(), owner("app"), previous)
		}},
		"a deletion": {[]string{"one"}, func(h *held, previous StoredInventory) error {
			return h.inventories.Delete(t.Context(), owner("app"), previous)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			h, previous := newHeld(t, test.lines...)
			_, err := h.inventories.Save(t.Context(), owner("app"), previous, []string{"first"}, 0)
			g.Expect(err).NotTo(HaveOccurred())
			err = test.second(h, previous)
			g.Expect(apierrors.IsConflict(err)).To(BeTrue(), "%v", err)
			if h.secret() != nil {
				stored, err := h.inventories.Load(t.Context(), owner("app"))
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(stored.Lines).To(Equal([]string{"first"}))
			}
		})
	}
}

func TestASecretOfAnotherClientIsNotAnInventory(t *testing.T) {
	g := NewWithT(t)
	h, _ := newHeld(t)
	theirs := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "data": map[string]any{"password": "eA=="},
	}}
	name := h.inventories.SecretOf(owner("app"))
	theirs.SetNamespace(name.Namespace)
	theirs.SetName(name.Name)
	h.Add(theirs)
	stored, err := h.inventories.Load(t.Context(), owner("app"))
	g.Expect(IsForeign(err)).To(BeTrue(), "%v", err)
	g.Expect(err).To(MatchError(ContainSubstring(name.String())))
	g.Expect(stored.Exists()).To(BeFalse())
}

func TestADamagedInventoryIsLost(t *testing.T) {
	other, err := Encode(Inventory, []string{"forged"})
	must(err)
	for name, test := range map[string]struct {
		edit func(secret *unstructured.Unstructured)
		want []string
	}{
		"with other content": {func(secret *unstructured.Unstructured) {
			text := base64.StdEncoding.EncodeToString(other[0])
			must(unstructured.SetNestedField(secret.Object, text, "data", Inventory.dataKey()))
		}, []string{"forged"}},
		"without content": {func(secret *unstructured.Unstructured) {
			unstructured.RemoveNestedField(secret.Object, "data")
		}, nil},
		"without its annotations": {func(secret *unstructured.Unstructured) { secret.SetAnnotations(nil) }, []string{"one"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			h, _ := newHeld(t, "one")
			test.edit(h.secret())
			stored, err := h.inventories.Load(t.Context(), owner("app"))
			g.Expect(IsLost(err)).To(BeTrue(), "%v", err)
			g.Expect(stored.Lines).To(Equal(test.want))
			_, err = h.inventories.Save(t.Context(), owner("app"), stored, []string{"rebuilt"}, 0)
			g.Expect(err).NotTo(HaveOccurred())
			stored, err = h.inventories.Load(t.Context(), owner("app"))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(stored.Lines).To(Equal([]string{"rebuilt"}))
		})
	}
}

func TestARestoredInventoryIsRead(t *testing.T) {
	g := NewWithT(t)
	h, _ := newHeld(t, "one")
	h.secret().SetManagedFields([]metav1.ManagedFieldsEntry{{
		Manager:   "velero",
		Operation: metav1.ManagedFieldsOperationUpdate,
	}})
	stored, err := h.inventories.Load(t.Context(), owner("app"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(stored.Lines).To(Equal([]string{"one"}))
}

func TestAnInventoryThatIsTooLargeIsNotWritten(t *testing.T) {
	g := NewWithT(t)
	h, stored := newHeld(t, "one")
	_, err := h.inventories.Save(t.Context(), owner("app"), stored, []string{"one", "two"}, maxInventoryBytes)
	g.Expect(err).To(MatchError(ContainSubstring("split the set")))
	again, err := h.inventories.Load(t.Context(), owner("app"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(again.Lines).To(Equal([]string{"one"}))
}

func TestOtherErrorsAreNoConflicts(t *testing.T) {
	for _, verb := range []string{"get", "create", "update", "patch", "delete"} {
		t.Run(verb, func(t *testing.T) {
			g := NewWithT(t)
			h, stored := newHeld(t, "one")
			h.Refuse = func(sent, name string) error {
				if sent == verb && name != "" {
					return apierrors.NewForbidden(corev1.Resource("secrets"), name, errors.New("no right"))
				}
				return nil
			}
			_, loaded := h.inventories.Load(t.Context(), owner("app"))
			_, created := h.inventories.Save(t.Context(), owner("other"), StoredInventory{}, []string{"one"}, 0)
			next, updated := h.inventories.Save(t.Context(), owner("app"), stored, []string{"two"}, 0)
			errs := []error{
				loaded, created, updated, h.inventories.Confirm(t.Context(), owner("app"), next),
				h.inventories.Delete(t.Context(), owner("app"), next),
			}
			failed := slices.DeleteFunc(errs, func(err error) bool { return err == nil })
			g.Expect(failed).NotTo(BeEmpty())
			for _, err := range failed {
				g.Expect(apierrors.IsConflict(err) || IsLost(err) || !apierrors.IsForbidden(err)).To(BeFalse(), fmt.Sprint(err))
			}
		})
	}
}

func TestAnInventoryDisappearsWithItsNamespace(t *testing.T) {
	g := NewWithT(t)
	h, stored := newHeld(t, "one")
	h.ending = []string{"shop"}
	h.Refuse = func(string, string) error { return forbidden() }
	g.Expect(h.inventories.Delete(t.Context(), owner("app"), stored)).To(Succeed())
}
