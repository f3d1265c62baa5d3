package apply

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/changepreview"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/pkg/component/result"
)

func TestWarningsThatLeaveObjectsOutPrintTheCommandThatNamesThem(t *testing.T) {
	var warnings []string
	p := preflight{
		target: cluster.Target{
			Namespace: "us", Name: "shop",
			Mapping: &meta.RESTMapping{GroupVersionKind: v1alpha1.GroupVersion.WithKind("Component")},
		},
		source: "./chart", warn: func(err error) { warnings = append(warnings, err.Error()) },
	}
	const command = "; with the same values, inputs and flags of the spec, fairlead plan -n us shop ./chart names them"
	waiting := slices.Repeat([]result.Waiting{{}}, maxWarnings+1)
	for want, warn := range map[string]func(){
		"not checked: 2 more objects": func() {
			p.warnOfUnchecked(append(slices.Repeat([]changepreview.Unchecked{{}}, maxWarnings),
				changepreview.Unchecked{More: 1}))
		},
		"the deletion of the component would wait for 1 more object": func() { p.warnOfDeletion(waiting) },
		"1 more object must wait for types that are not served":      func() { p.warnOfUnserved(waiting) },
	} {
		warnings = nil
		warn()
		if len(warnings) != maxWarnings+1 || warnings[maxWarnings] != want+command {
			t.Errorf("%q, want the last to be %q", warnings, want+command)
		}
	}
}

func TestTheCommandThatNamesEverythingHasTheSource(t *testing.T) {
	for source, want := range map[string]string{
		"./chart":                              "./chart",
		"./my chart":                           "'./my chart'",
		"https://example.com/shop.tgz":         "https://example.com/shop.tgz",
		"https://example.com/(a&b).tgz":        "'https://example.com/(a&b).tgz'",
		"https://example.com/a.tgz?token=s":    "URL",
		"https://joe:secret@example.com/a.tgz": "URL",
	} {
		p := preflight{target: cluster.Target{
			Name: "shop", Mapping: &meta.RESTMapping{GroupVersionKind: v1alpha1.GroupVersion.WithKind("Component")},
		}, source: source}
		command := "; with the same values, inputs and flags of the spec, fairlead plan shop " + want + " names them"
		if got := p.hintAll(); got != command {
			t.Errorf("%q, want %q", got, command)
		}
	}
}
