package records

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

func TestOnlySecretsThatTheReconcilerWroteAreDeleted(t *testing.T) {
	app := owner("app")
	for _, test := range []struct {
		name string
		edit func(*cluster, string)
		// deleted is set if the Secret is deleted. reads is the number of Secrets that are read.
		deleted bool
		reads   int
	}{
		{"a record", func(*cluster, string) {}, true, 0},
		{"a record that a backup restored", func(c *cluster, name string) {
			c.secret(name).SetManagedFields(nil)
		}, true, 1},
		{"a record that somebody edited", func(c *cluster, name string) {
			c.secret(name).Object["data"] = map[string]any{"a": "b"}
		}, true, 0},
		{"a Secret with other data that somebody else created", func(c *cluster, name string) {
			c.secret(name).SetManagedFields([]metav1.ManagedFieldsEntry{{
				Manager:   "kubectl",
				Operation: metav1.ManagedFieldsOperationUpdate,
			}})
			c.secret(name).Object["data"] = map[string]any{"a": "b"}
		}, false, 1},
		{"a Secret without a digest that somebody else created", func(c *cluster, name string) {
			c.secret(name).SetManagedFields(nil)
			c.secret(name).SetAnnotations(nil)
		}, false, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, s := newCluster(t)
			name := write(t, s, app, Phases, "a")
			test.edit(c, name)
			c.Requests = nil
			if err := s.Remover.Delete(t.Context(), app, Phases); err != nil {
				t.Fatal(err)
			}
			reads := len(slices.DeleteFunc(slices.Clone(c.Requests), func(r string) bool { return r != "get "+name }))
			if deleted := c.secret(name) == nil; deleted != test.deleted || reads != test.reads {
				t.Errorf("the Secret was deleted: %t, after the requests %v", deleted, c.Requests)
			}
		})
	}
}

func TestACopiedFinalizerIsRemovedWhenSomebodyDeletesTheSecret(t *testing.T) {
	c, s := newCluster(t)
	app := owner("app")
	name := write(t, s, app, Phases, "a")
	c.secret(name).SetManagedFields(nil)
	c.secret(name).SetAnnotations(nil)
	now := metav1.Now()
	c.secret(name).SetDeletionTimestamp(&now)
	if err := s.Remover.Delete(t.Context(), app, Phases); err != nil {
		t.Fatal(err)
	}
	if secret := c.secret(name); secret != nil && len(secret.GetFinalizers()) > 0 {
		t.Errorf("the Secret still has the finalizers %v", secret.GetFinalizers())
	}
}

// secret returns a stored Secret, or nil.
func (c *cluster) secret(name string) *unstructured.Unstructured {
	return c.Secrets[types.NamespacedName{Namespace: "shop", Name: name}]
}
