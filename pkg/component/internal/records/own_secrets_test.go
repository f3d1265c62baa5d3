package records

import (
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
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
			if err := s.Delete(t.Context(), app, Phases, ""); err != nil {
				t.Fatal(err)
			}
			reads := len(slices.DeleteFunc(slices.Clone(c.Requests), func(r string) bool { return r != "get "+name }))
			if gone := c.secret(name) == nil; gone != test.deleted || reads != test.reads {
				t.Errorf("the Secret is gone: %t, after the requests %v", gone, c.Requests)
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
	if err := s.Delete(t.Context(), app, Phases, ""); err != nil {
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

// rewrite replaces a stored record, as another process does, at the first request with the given verb.
func (c *cluster) rewrite(verb, name string) {
	written := false
	c.Refuse = func(v, n string) error {
		if v != verb || n != name || written {
			return nil
		}
		written = true
		secret := c.secret(name).DeepCopy()
		annotations := secret.GetAnnotations()
		annotations[reconciler+"/"+annotationWritten] = start.Add(time.Minute).Format(timeFormat)
		secret.SetAnnotations(annotations)
		c.Add(secret)
		return nil
	}
}

func TestARecordThatAnotherProcessWritesAgainIsNotDeleted(t *testing.T) {
	for _, verb := range []string{"patch", "delete"} {
		t.Run("before the "+verb+" of a stale inventory", func(t *testing.T) {
			g := NewWithT(t)
			c, s := newCluster(t)
			m := &State{}
			rewritten := write(t, s, owner("app"), Inventory, "rewritten")
			write(t, s, owner("app"), Inventory, "stale")
			secrets, err := s.ListKind(t.Context(), owner("app"), Inventory)
			g.Expect(err).NotTo(HaveOccurred())
			m.AddStale(secrets)
			c.rewrite(verb, rewritten)
			g.Expect(s.DeleteStale(t.Context(), m)).To(Succeed())
			g.Expect(c.Names("shop")).To(Equal([]string{rewritten}))
			g.Expect(m.staleSecrets()).To(BeEmpty())
			m.AddUnnamedSecret(c.All()[0])
			g.Expect(m.UnnamedInventories()).To(HaveLen(1), "the event of the other write is not ignored")
		})
		t.Run("before the "+verb+" of a record without a component", func(t *testing.T) {
			g := NewWithT(t)
			c, s := newCluster(t)
			rewritten := write(t, s, owner("app"), Phases, "rewritten")
			write(t, s, owner("app"), Inventory, "stale")
			secrets := c.All()
			c.rewrite(verb, rewritten)
			collector := Collector{Store: s, Components: &components{}, Namespaces: []string{""}, Started: start}
			g.Expect(collector.collect(t.Context(), batch{}, secrets)).To(Succeed())
			g.Expect(c.Names("shop")).To(Equal([]string{rewritten}))
		})
	}
}
