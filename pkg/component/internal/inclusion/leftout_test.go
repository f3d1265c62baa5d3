package inclusion_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/pkg/component/internal/inclusion"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func leftOutInputs() inclusion.Inputs {
	return inclusion.Inputs{
		Namespace: "a", Name: "shop", Parameters: map[string]any{"exposed": false, "login": "geheim"},
		Recorded: func(manifests.Key) bool { return false },
		Export:   func(string) (any, string) { return "off", "" },
		Served:   func(schema.GroupKind) (bool, error) { return false, nil },
		Hidden:   func(path string) bool { return path == "parameters.login" },
	}
}

func TestLeftOutObjectsHaveTheConditionAndItsValues(t *testing.T) {
	for _, c := range []struct {
		conditions manifests.Conditions
		want       string
	}{
		{
			manifests.Conditions{Include: "has(parameters.exposed) && parameters.exposed"},
			`Excluded its condition include-when is false: has(parameters.exposed) && parameters.exposed (parameters.exposed is false)`,
		},
		{
			manifests.Conditions{Include: "exports.mode == 'on'", Exports: []string{"mode"}},
			`Excluded its condition include-when is false: exports.mode == 'on' (exports.mode is "off")`,
		},
		{
			manifests.Conditions{Active: "served('Backup.example.com')"},
			`Inactive its condition active-when is false: served('Backup.example.com') ` +
				`(the API server does not serve Backup.example.com)`,
		},
		{
			manifests.Conditions{Include: "parameters.login == 'open'"},
			`Excluded its condition include-when is false: parameters.login == 'open'`,
		},
		{
			// A condition without a value leaves nothing out.
			manifests.Conditions{Include: "parameters.none"}, "",
		},
	} {
		d := inclusion.Decide(t.Context(), []manifests.Object{object("conditional", &c.conditions)}, leftOutInputs())
		got := ""
		for _, r := range d.LeftOut {
			got += r.Reason + " " + r.Message
		}
		if got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

func TestLeftOutObjectsNameTheObjectThatTheyDependOn(t *testing.T) {
	first := object("first", &manifests.Conditions{Include: "parameters.exposed"})
	second, third := object("second", nil), object("third", nil)
	second.Settings.Graph = &manifests.GraphSettings{Exporters: []manifests.Key{first.Key}}
	third.Settings.Graph = &manifests.GraphSettings{Exporters: []manifests.Key{second.Key}}
	d := inclusion.Decide(t.Context(), []manifests.Object{third, second, first}, leftOutInputs())
	condition := "its condition include-when is false: parameters.exposed (parameters.exposed is false)"
	want := []string{
		"it depends on ConfigMap second, which is left out because of ConfigMap first: " + condition,
		"it depends on ConfigMap first, which is left out: " + condition,
		condition,
	}
	for i, r := range d.LeftOut {
		if r.Message != want[i] {
			t.Errorf("got  %s\nwant %s", r.Message, want[i])
		}
	}
	if len(d.LeftOut) != len(want) {
		t.Errorf("got %d reports, want %d", len(d.LeftOut), len(want))
	}
}

func TestAParameterIsNotShownUnlessTheCallerPermitsIt(t *testing.T) {
	in := leftOutInputs()
	in.Hidden = nil
	d := inclusion.Decide(t.Context(),
		[]manifests.Object{object("a", &manifests.Conditions{Include: "parameters.exposed"})}, in)
	if len(d.LeftOut) != 1 || strings.Contains(d.LeftOut[0].Message, "is false (") {
		t.Errorf("got %v", d.LeftOut)
	}
}

func TestTheFirstTenLeftOutObjectsAreReported(t *testing.T) {
	var set []manifests.Object
	for i := range 12 {
		set = append(set, object(fmt.Sprint(i), &manifests.Conditions{Include: "false"}))
	}
	repeated := object("0", &manifests.Conditions{Include: "false"})
	repeated.Occurrence = 1
	d := inclusion.Decide(t.Context(), append([]manifests.Object{set[0], repeated}, set[1:]...), leftOutInputs())
	if len(d.LeftOut) != 10 || d.LeftOut[1].Dependent != "ConfigMap 1" {
		t.Errorf("got %v", d.LeftOut)
	}
}
