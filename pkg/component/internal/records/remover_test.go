package records

import (
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func TestRecordsAreDeletedByKindAndOwner(t *testing.T) {
	c, s := newCluster(t)
	write(t, s, owner("app"), Phases, "named")
	write(t, s, owner("app"), Phases, "other")
	rendering := write(t, s, owner("app"), Rendering, "named")
	others := write(t, s, owner("b"), Phases, "other")
	if err := s.Remover.Delete(t.Context(), owner("app"), Phases); err != nil {
		t.Fatal(err)
	}
	want := slices.Sorted(slices.Values([]string{rendering, others}))
	if got := c.Names("shop"); !slices.Equal(got, want) {
		t.Errorf("the Secrets %q remain, want %q", got, want)
	}
	c.Refuse = func(string, string) error { return forbidden() }
	if err := s.Remover.Delete(t.Context(), owner("app"), Phases); !apierrors.IsForbidden(err) {
		t.Errorf("Delete without the right to list returned %v, want a Forbidden error", err)
	}
	c.ending = []string{"shop"}
	if err := s.Remover.Delete(t.Context(), owner("app"), Phases); err != nil {
		t.Errorf("Delete in a namespace that is being deleted returned %v", err)
	}
}

func TestUnnamedRecordsAreDeletedWhereThereMayBeSome(t *testing.T) {
	c, s := newCluster(t)
	m := &State{}
	naming := Naming{Owner: owner("app"), Kind: Phases, ID: "named"}
	drop := func() error { return s.Remover.DeleteUnnamed(t.Context(), m, naming) }
	write(t, s, owner("app"), Phases, "other")
	if err := drop(); err != nil || len(c.Secrets) != 1 {
		t.Errorf("deleting records that were never seen returned %v, and %d Secrets remain", err, len(c.Secrets))
	}
	m.AddUnlisted()
	c.Refuse = func(string, string) error { return forbidden() }
	if err := drop(); err != nil || m.evidenceOf(Phases) != notListed {
		t.Errorf("deleting records that cannot be listed returned %v", err)
	}
	m.AddUnnamed(Phases)
	m.AddUnlisted()
	if err := drop(); !apierrors.IsForbidden(err) {
		t.Errorf("deleting records that were seen and cannot be listed returned %v", err)
	}
	c.Refuse = nil
	if err := drop(); err != nil || len(c.Secrets) != 0 || m.evidenceOf(Phases) != noEvidence {
		t.Errorf("deleting records returned %v, and %d Secrets remain", err, len(c.Secrets))
	}
}

func TestARecordThatChangesDuringItsDeletionIsKept(t *testing.T) {
	c, s := newCluster(t)
	write(t, s, owner("app"), Phases, "a")
	c.Refuse = func(verb, _ string) error {
		for _, secret := range c.Secrets {
			if verb == "delete" {
				c.Add(secret)
			}
		}
		return nil
	}
	if err := s.Remover.Delete(t.Context(), owner("app"), Phases); !apierrors.IsConflict(err) || len(c.Secrets) != 1 {
		t.Errorf("while another process writes the record, Delete returned %v, and %d Secrets remain", err, len(c.Secrets))
	}
	c.Refuse = nil
	if err := s.Remover.Delete(t.Context(), owner("app"), Phases); err != nil || len(c.Secrets) != 0 {
		t.Errorf("the next deletion returned %v, and %d Secrets remain", err, len(c.Secrets))
	}
}

func TestStaleSecretsAreDeletedByUID(t *testing.T) {
	c, s := newCluster(t)
	m := &State{}
	write(t, s, owner("app"), Inventory, "stale")
	write(t, s, owner("app"), Inventory, "changed")
	write(t, s, owner("app"), Inventory, "gone")
	replaced := write(t, s, owner("app"), Inventory, "replaced")
	secrets, err := s.ListKind(t.Context(), owner("app"), Inventory)
	if err != nil {
		t.Fatal(err)
	}
	m.AddStale(secrets)
	for name, secret := range c.Secrets {
		switch IDOf(name.Name) {
		case "changed":
			c.Add(secret)
		case "gone":
			delete(c.Secrets, name)
		case "replaced":
			secret.SetUID("new")
			c.Add(secret)
		}
	}
	c.Refuse = func(verb, name string) error {
		if verb == "patch" && IDOf(name) == "stale" {
			return forbidden()
		}
		return nil
	}
	if err := s.Remover.DeleteStale(t.Context(), m); !apierrors.IsForbidden(err) || len(m.staleSecrets()) != 4 {
		t.Errorf("deleting records without a right returned %v", err)
	}
	c.Refuse = nil
	if err := s.Remover.DeleteStale(t.Context(), m); err != nil || len(m.staleSecrets()) != 0 {
		t.Errorf("DeleteStale returned %v, or left stale Secrets in memory", err)
	}
	if got := c.Names("shop"); !slices.Equal(got, []string{replaced}) {
		t.Errorf("the Secrets %q remain, want only the replaced Secret", got)
	}
}

func TestNoRecordIsLeftOfAComponentThatNeedsNone(t *testing.T) {
	g := NewWithT(t)
	c, s := newCluster(t)
	write(t, s, owner("app"), Rendering, "first")
	write(t, s, owner("app"), Rendering, "second")
	m := &State{}
	g.Expect(s.Remover.DeleteLeft(t.Context(), m, owner("app"), Rendering)).To(Succeed())
	g.Expect(c.Secrets).To(HaveLen(2), "this process has no evidence of unnamed records")
	m.AddUnnamed(Rendering)
	g.Expect(s.Remover.DeleteLeft(t.Context(), m, owner("app"), Rendering)).To(Succeed())
	g.Expect(c.Secrets).To(BeEmpty())
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
			g.Expect(s.Remover.DeleteStale(t.Context(), m)).To(Succeed())
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
