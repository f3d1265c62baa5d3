package component

import (
	"testing"

	"github.com/fairlead-io/fairlead/pkg/component/internal/protect"
)

func TestIncidentals(t *testing.T) {
	labels := map[string]string{"bundle": "all"}
	all, err := incidentals([]Incidental{{Group: "example.com", Kind: "Report", Name: "daily", Labels: labels}})
	if err != nil {
		t.Fatal(err)
	}
	last := all[len(all)-1]
	if len(all) != len(protect.WellKnown)+1 || last.Group != "example.com" || last.Kind != "Report" ||
		last.Name != "daily" ||
		last.Labels["bundle"] != "all" {
		t.Errorf("got %+v", all)
	}
	if _, err := incidentals([]Incidental{{Name: "a"}}); err == nil {
		t.Error("an entry without a kind is accepted")
	}
}
