package inventory

import (
	"errors"
	"slices"
	"strings"
	"testing"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/records"
)

// newerLines returns the lines of an inventory with n entries. The first line contains a field of a newer version.
func newerLines(n int) []string {
	lines, _ := linesOf(entries(n))
	lines[0] += " !xx@v9.1=1"
	return lines
}

// writeNewer writes the inventory of a newer version, into the status or into Secrets.
func (c *cluster) writeNewer(lines []string, inSecrets bool) {
	c.t.Helper()
	p := c.load()
	if err := c.store.Components.AddFinalizer(c.t.Context(), p); err != nil {
		c.t.Fatal(err)
	}
	recorded, digest := components.RefOf(p.GetStatus()), components.InventoryDigest(lines)
	p.Status.Reconciler = reconciler
	enterLines(&p.Status, lines, digest)
	if inSecrets {
		if err := c.store.enterSecrets(p, lines, digest); err != nil {
			c.t.Fatal(err)
		}
		if err := c.store.writeSecrets(c.t.Context(), p, recorded); err != nil {
			c.t.Fatal(err)
		}
	}
	if err := c.store.Components.WriteStatus(c.t.Context(), p, recorded); err != nil {
		c.t.Fatal(err)
	}
	c.restart()
}

func TestAnInventoryOfANewerVersionIsNeitherUsedNorRecovered(t *testing.T) {
	nothing := func(*metav1alpha1.Status) {}
	for name, edit := range map[string]func(*metav1alpha1.Status){
		"as it was written":         nothing,
		"with another digest":       func(st *metav1alpha1.Status) { st.InventoryDigest = "another" },
		"after the status was lost": func(st *metav1alpha1.Status) { *st = metav1alpha1.Status{} },
	} {
		for _, inSecrets := range []bool{false, true} {
			if !inSecrets && strings.HasSuffix(name, "lost") {
				// The lines of the inventory are lost with the status.
				continue
			}
			place := map[bool]string{false: " in the status", true: " in Secrets"}[inSecrets]
			t.Run(name+place, func(t *testing.T) {
				c := newCluster(t)
				lines := newerLines(3)
				c.writeNewer(lines, inSecrets)
				c.edit(edit)
				before, secrets := c.load().Status, c.secretsOf(records.Inventory)
				c.statuses = 0
				p := c.load()
				got, _, err := c.store.Load(t.Context(), p, c.owner(), everything(entries(3)...).recovery)
				failure, ok := errors.AsType[*passerror.Error](err)
				if !ok || !failure.Terminal || failure.Reason != metav1alpha1.ReasonNewerRecord {
					t.Fatalf("Load of a newer inventory returned %d entries and the error %v, want a terminal error", len(got), err)
				}
				for _, part := range []string{"/v1/ConfigMap/shop/settings-0", `"xx"`, "v9.1"} {
					if !strings.Contains(failure.Message, part) {
						t.Errorf("the text %q is missing in the message %q", part, failure.Message)
					}
				}
				for status, of := range map[*metav1alpha1.Status]string{&p.Status: "pass", &c.load().Status: "stored"} {
					if !slices.Equal(status.Inventory, before.Inventory) || status.InventoryDigest != before.InventoryDigest ||
						components.RefOf(status).Secrets() != components.RefOf(&before).Secrets() {
						t.Errorf("Load of a newer inventory changed the %s status: %v", of, status)
					}
				}
				if c.statuses > 0 || !slices.Equal(c.secretsOf(records.Inventory), secrets) {
					t.Errorf("Load of a newer inventory wrote the status %d times, or changed the Secrets %q", c.statuses,
						c.secretsOf(records.Inventory))
				}
			})
		}
	}
}
