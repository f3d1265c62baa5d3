package component

import (
	"fmt"
	"os"
	"regexp"
	"testing"

	. "github.com/onsi/gomega"
)

// rowOfDefault matches a row of the table of defaults in ARCHITECTURE.md: the option and its default.
var rowOfDefault = regexp.MustCompile("(?m)^\\| `Options\\.(\\w+)\\.(\\w+)` \\| ([^|]+) \\|")

func TestTheTableOfDefaultsIsThatOfTheOptions(t *testing.T) {
	g := NewWithT(t)
	page, err := os.ReadFile("../../ARCHITECTURE.md")
	g.Expect(err).NotTo(HaveOccurred())
	documented := map[string]string{}
	for _, row := range rowOfDefault.FindAllStringSubmatch(string(page), -1) {
		documented[row[1]+"."+row[2]] = row[3]
	}
	o := Options{}.WithDefaults()
	p := o.Dependents.Policies
	g.Expect(documented).To(Equal(map[string]string{
		"Dependents.Policies": fmt.Sprintf("`%s`, `%s`, `%s`, `%s`, `%s`",
			p.Reconcile, p.Update, p.Adoption, p.Delete, p.MissingNamespaces),
		"Intervals.Timeout":              o.Intervals.Timeout.String(),
		"Intervals.Retry":                o.Intervals.Retry.String(),
		"Intervals.Resync":               o.Intervals.Resync.String(),
		"Limits.MaxConcurrentReconciles": fmt.Sprint(o.Limits.MaxConcurrentReconciles),
		"Limits.Writers":                 fmt.Sprint(o.Limits.Writers),
		"Limits.RenderedBytes":           fmt.Sprintf("%d MiB", o.Limits.RenderedBytes>>20),
		"Limits.StatusInventory":         fmt.Sprintf("%d KiB", o.Limits.StatusInventory>>10),
		"Names.RecordNamespace":          "`" + o.Names.RecordNamespace + "`",
	}))
}

func TestDefaultsReplaceNoOptionThatIsSet(t *testing.T) {
	g := NewWithT(t)
	o := Options{Limits: Limits{Writers: 2, StatusInventory: -1}, Intervals: Intervals{Timeout: -1}}.WithDefaults()
	g.Expect(o.WithDefaults()).To(Equal(o))
	g.Expect(o.Limits.Writers).To(Equal(2))
	g.Expect(o.Limits.StatusInventory).To(Equal(-1), "a negative size keeps all inventories in Secrets")
	g.Expect(o.Intervals.Timeout).To(BeEquivalentTo(-1))
	o = Options{Limits: Limits{Writers: -1, StatusInventory: 1 << 30}}.WithDefaults()
	g.Expect(o.Limits).To(Equal(Options{}.WithDefaults().Limits))
}
