package metrics

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
)

// documented are the rows of the table of metrics: name, type, labels.
var documented = regexp.MustCompile("(?m)^\\| `(fairlead_[a-z_]+)` \\| ([a-z]+) \\| ([^|]+) \\|")

func TestMetricsAreAllDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/monitoring.md")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, row := range documented.FindAllStringSubmatch(string(page), -1) {
		labels := strings.Split(strings.ReplaceAll(row[3], "`", ""), ", ")
		slices.Sort(labels)
		want = append(want, row[1]+" "+row[2]+" "+strings.Join(labels, ","))
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, metricsInUse(t)); diff != "" {
		t.Errorf("docs/monitoring.md and the code differ (-documented +registered):\n%s", diff)
	}
}

// metricsInUse returns all metrics as "name type labels".
func metricsInUse(t *testing.T) []string {
	t.Helper()
	registry, instruments := prometheus.NewPedanticRegistry(), NewInstruments()
	if err := instruments.RegisterIn(registry); err != nil {
		t.Fatal(err)
	}
	m := instruments.Meter(reconciler)
	m.Pass("Ready")
	m.BecameReady(0)
	m.Repaired(configMaps, CauseChanged)
	m.request(requestKey{kind: configMaps, verb: "get", code: 200}).Inc()
	p := m.Population(nil, true)
	m.Join(p)
	p.Note(types.NamespacedName{Name: "shop"}, Component{State: "Ready"})
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, family := range families {
		var labels []string
		for _, l := range family.GetMetric()[0].GetLabel() {
			labels = append(labels, l.GetName())
		}
		found = append(found, family.GetName()+" "+strings.ToLower(family.GetType().String())+" "+strings.Join(labels, ","))
	}
	return found
}
