package records

import (
	"context"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
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
	write(t, s, owner("app"), Inventory, "removed")
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
		case "removed":
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

// writeAfter writes a rendering that replaces another one.
func writeAfter(t *testing.T, s *Store, id, previous string) {
	t.Helper()
	parts, err := Encode(Rendering, []string{"one"})
	if err == nil {
		err = s.Write(t.Context(), owner("app"), Record{Kind: Rendering, ID: id, After: previous}, parts)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// The rows are the points at which a process may have crashed, and the records of two processes.
func TestARenderingIsStaleIfTheStatusNamesNeitherItNorThePreviousOne(t *testing.T) {
	for _, test := range []struct {
		name string
		// exist are the renderings that exist, each with the one that it replaces. named is the one that the status names.
		exist map[string]string
		named string
		stays []string
		// unreported is set if the Collector reports no record as unnamed.
		unreported bool
	}{
		{
			name:  "the status does not name a written record yet",
			exist: map[string]string{"r5": "r4", "r6": "r5"}, named: "r5", stays: []string{"r5", "r6"}, unreported: true,
		},
		{
			name:  "another record was named after a crash before the status named a record",
			exist: map[string]string{"r5": "r4", "r6": "r5", "r6b": "r5"}, named: "r6b", stays: []string{"r6b"},
		},
		{
			name:  "the previous record was not deleted",
			exist: map[string]string{"r5": "r4", "r6": "r5"}, named: "r6", stays: []string{"r6"},
		},
		{
			name:  "no record is named yet, and two were written",
			exist: map[string]string{"first": "", "second": ""}, named: "", stays: []string{"first", "second"},
		},
		{
			name:  "one of two first records is named",
			exist: map[string]string{"first": "", "second": ""}, named: "second", stays: []string{"second"},
		},
		{
			name:  "of two processes, one has named its record, and the other has not written its status",
			exist: map[string]string{"a": "r5", "b": "r5"}, named: "b", stays: []string{"b"},
		},
		{
			name:  "an earlier version of the operator wrote the record",
			exist: map[string]string{"r5": "", "r6": ""}, named: "r5", stays: []string{"r5"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			c, s := newCluster(t)
			for id, previous := range test.exist {
				writeAfter(t, s, id, previous)
			}
			known := &components{cached: map[string]Component{
				owner("app").ID(): {Status: &metav1alpha1.Status{RenderedSet: test.named}},
			}}
			(&Collector{Store: s, Components: known}).reportUnnamed(c.All(), known.cached)
			if unreported := len(known.unnamed) == 0; unreported != test.unreported {
				t.Errorf("reported: %q", known.unnamed)
			}

			m, confirmed := &State{}, 0
			m.AddUnnamed(Rendering)
			confirm := func(context.Context) error { confirmed++; return nil }
			naming := Naming{Owner: owner("app"), Kind: Rendering, ID: test.named, Confirm: confirm}
			g.Expect(s.Remover.DeleteUnnamed(t.Context(), m, naming)).To(Succeed())
			var left []string
			for _, name := range c.Names("shop") {
				left = append(left, IDOf(name))
			}
			g.Expect(left).To(ConsistOf(test.stays))
			confirms := 0
			if len(test.stays) < len(test.exist) {
				confirms = 1
			}
			g.Expect(confirmed).To(Equal(confirms), "the status is confirmed once, and only before a deletion")
			g.Expect(m.evidenceOf(Rendering)).To(Equal(noEvidence))
		})
	}
}

func TestOnlyThePreviousRecordIsDeletedWithoutAConfirmation(t *testing.T) {
	for _, test := range []struct {
		name       string
		renderings map[string]string
		confirms   int
	}{
		{"the previous record", map[string]string{"r5": "r4", "r6": "r5"}, 0},
		{"the previous record, and one that another process wrote", map[string]string{"r5": "r4", "r6": "r5", "b": "r4"}, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			c, s := newCluster(t)
			for id, previous := range test.renderings {
				writeAfter(t, s, id, previous)
			}
			m, confirmed := &State{}, 0
			m.AddPrevious(Rendering, "r5")
			confirm := func(context.Context) error { confirmed++; return nil }
			naming := Naming{Owner: owner("app"), Kind: Rendering, ID: "r6", Confirm: confirm}
			g.Expect(s.Remover.DeleteUnnamed(t.Context(), m, naming)).To(Succeed())
			g.Expect(c.Names("shop")).To(ConsistOf(ContainSubstring("-r6-")))
			g.Expect(confirmed).To(Equal(test.confirms))
		})
	}
}

func TestNothingIsDeletedIfTheStatusNamesAnotherRecord(t *testing.T) {
	g := NewWithT(t)
	c, s := newCluster(t)
	writeAfter(t, s, "r7", "r6")
	m := &State{}
	m.AddUnnamed(Rendering)
	changed := apierrors.NewConflict(secretResource.GroupResource(), "app", nil)
	naming := Naming{
		Owner: owner("app"), Kind: Rendering, ID: "r5", Confirm: func(context.Context) error { return changed },
	}
	g.Expect(s.Remover.DeleteUnnamed(t.Context(), m, naming)).To(MatchError(changed))
	g.Expect(c.Secrets).To(HaveLen(1))
	g.Expect(m.evidenceOf(Rendering)).To(Equal(seen), "the next pass must look for stale records again")
}

func TestNoRecordIsLeftOfAComponentThatNeedsNone(t *testing.T) {
	g := NewWithT(t)
	c, s := newCluster(t)
	writeAfter(t, s, "first", "")
	writeAfter(t, s, "second", "first")
	m := &State{}
	changed, confirmed := apierrors.NewConflict(secretResource.GroupResource(), "app", nil), 0
	naming := Naming{Owner: owner("app"), Kind: Rendering, Confirm: func(context.Context) error {
		confirmed++
		return changed
	}}
	g.Expect(s.Remover.DeleteLeft(t.Context(), m, naming)).To(Succeed())
	g.Expect(c.Secrets).To(HaveLen(2), "this process has no evidence of unnamed records")
	g.Expect(confirmed).To(BeZero())
	for _, id := range []string{"", "second"} {
		naming.ID = id
		m.AddUnnamed(Rendering)
		g.Expect(s.Remover.DeleteLeft(t.Context(), m, naming)).To(MatchError(changed))
		g.Expect(c.Secrets).To(HaveLen(2))
		g.Expect(m.evidenceOf(Rendering)).To(Equal(seen))
	}
	naming.ID, naming.Confirm = "", nil
	g.Expect(s.Remover.DeleteLeft(t.Context(), m, naming)).To(Succeed())
	g.Expect(c.Secrets).To(BeEmpty())
	g.Expect(m.evidenceOf(Rendering)).To(Equal(noEvidence))
	write(t, s, owner("app"), Rendering, "named")
	naming.ID = "named"
	g.Expect(s.Remover.DeleteLeft(t.Context(), m, naming)).To(Succeed())
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
