package inventory

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/status"
	"github.com/fairlead-io/fairlead/pkg/component/result"
)

func TestNoStatusThatIsWrittenIsLarge(t *testing.T) {
	// limit is the maximum size of a status. 8 KiB of the 512 KiB remain for the spec and the managed fields of the
	// component.
	const limit = 512<<10 - 8<<10
	// lookups is the number of look-ups in a status.
	const lookups = 100
	name := strings.Repeat("n", 253)
	c := newCluster(t)
	large := c.load()
	err := c.store.Write(t.Context(), large, components.RefOf(&large.Status), entries(1700))
	if err != nil || large.Status.HasInventoryRecord() {
		t.Fatalf("the largest inventory of a status is in Secrets: %v", err)
	}
	for range 6 {
		condition := metav1.Condition{Type: name, Message: strings.Repeat("m", 4096)}
		large.Status.Conditions = append(large.Status.Conditions, condition)
	}
	for range lookups {
		lookup := metav1alpha1.Lookup{Group: name, Version: name, Kind: name, Namespace: name, Name: name}
		large.Status.Lookups = append(large.Status.Lookups, lookup.String())
	}
	report := metav1alpha1.DependentReport{Dependent: name, Reason: name, Message: strings.Repeat("m", 2000)}
	large.Status, _ = status.Next(large.Status, status.Report{Outcome: outcome.Outcome{Outcome: result.Outcome{
		Inventory: []metav1alpha1.InventoryEntry{}, Waiting: slices.Repeat([]result.Waiting{{DependentReport: report}}, 20),
	}}})
	text, err := json.Marshal(large.Status)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes", len(text))
	if len(text) > limit {
		t.Errorf("the status has %d bytes, which is more than the limit", len(text))
	}
}
