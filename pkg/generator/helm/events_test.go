package helm_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/helm"
)

// hookObject returns the template of a hook.
func hookObject(apiVersion, kind, name, events, policies, more string) string {
	annotations := "helm.sh/hook: '" + events + "'"
	if policies != "" {
		annotations += ", helm.sh/hook-delete-policy: '" + policies + "'"
	}
	return fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: %s, annotations: {%s%s}}\n", apiVersion, kind, name,
		annotations, more)
}

// settingsOf returns the settings of a generated object as text: order, purge order, policies.
func settingsOf(annotations map[string]string) string {
	var texts []string
	for _, name := range []string{"order", "purge-order", "update-policy", "reconcile-policy", "phase", "phase-order"} {
		if value, ok := annotations["demo.example.io/"+name]; ok {
			texts = append(texts, name+"="+value)
		}
	}
	return strings.Join(texts, " ")
}

func TestAHookStandsAtEachOfItsEvents(t *testing.T) {
	const (
		installs = "pre-install,post-install"
		upgrades = "pre-upgrade,post-upgrade"
	)
	for _, c := range []struct {
		name, apiVersion, kind, events, policies string
		// first is the expected text at revision 1, and later is the text at revision 2. A text is empty if the hook is
		// omitted.
		first, later string
	}{
		{
			"hook for both events of installations and upgrades", "batch/v1", "Job", installs + "," + upgrades, "",
			"order=-20000,20000 update-policy=recreate", "order=-20000,20000 update-policy=recreate",
		},
		{
			"hook that is deleted after success", "v1", "ServiceAccount", upgrades + "," + installs,
			"before-hook-creation,hook-succeeded",
			"order=-20000,20000 purge-order=-19999,20001 update-policy=recreate",
			"order=-20000,20000 purge-order=-19999,20001 update-policy=recreate",
		},
		{
			"hook for both events of an upgrade", "batch/v1", "Job", "pre-install," + upgrades, "hook-succeeded",
			"order=-20000 purge-order=-19999 update-policy=recreate",
			"order=-20000,20000 purge-order=-19999,20001 update-policy=recreate",
		},
		{
			"hook that names an event twice", "batch/v1", "Job", "pre-install,pre-install", "",
			"order=-20000 update-policy=recreate", "",
		},
		{"Job as a hook for installations", "batch/v1", "Job", installs, "", "order=-20000,20000 update-policy=recreate", ""},
		{
			"Secret as a hook for installations, which may contain a password", "v1", "Secret", installs, "",
			"order=-20000,20000 update-policy=recreate reconcile-policy=once", "order=-20000 reconcile-policy=once",
		},
		{
			"namespace as a hook, which contains other objects", "v1", "Namespace", installs + "," + upgrades,
			"before-hook-creation,hook-succeeded",
			"order=-20000", "order=-20000",
		},
		{
			"definition as a hook", "apiextensions.k8s.io/v1", "CustomResourceDefinition", "post-install," + upgrades, "",
			"order=20000", "order=-20000",
		},
		{
			"volume claim as a hook", "v1", "PersistentVolumeClaim", installs + "," + upgrades, "hook-succeeded",
			"order=-20000,20000 purge-order=-19999,20001 update-policy=recreate",
			"order=-20000,20000 purge-order=-19999,20001 update-policy=recreate",
		},
		{
			"hook for installations and deletions", "batch/v1", "Job", "pre-delete," + installs, "hook-succeeded",
			"order=-20000,20000 purge-order=-19999,20001 update-policy=recreate phase=apply,pre-delete phase-order=26000",
			"phase=pre-delete phase-order=26000",
		},
		{"hook for roll-backs", "batch/v1", "Job", "pre-rollback,post-rollback", "", "", ""},
		{"hook for tests", "v1", "Pod", "test", "", "", ""},
		{"hook with an unknown event", "v1", "Pod", installs + ",crd-install", "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := map[string]string{"templates/a.yaml": hookObject(c.apiVersion, c.kind, "a", c.events, c.policies, "")}
			for revision, want := range map[int64]string{1: c.first, 2: c.later} {
				objects := generate(t, chartOf(files), options, generator.Request{Revision: revision})
				var got string
				if len(objects) > 0 {
					got = settingsOf(objects[0].GetAnnotations())
				}
				if got != want {
					t.Errorf("revision %d: got %q, want %q", revision, got, want)
				}
			}
		})
	}
}

func TestOnlyTestsAreRenderedForATest(t *testing.T) {
	files := map[string]string{
		"templates/own.yaml":  "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: own}\n",
		"templates/hook.yaml": hookObject("v1", "Pod", "hook", "post-install", "", ""),
		"templates/a.yaml":    hookObject("v1", "Pod", "a", "test", "", ""),
		"templates/b.yaml":    hookObject("v1", "Pod", "b", "test-success,post-install", "", ", helm.sh/hook-weight: '-1'"),
	}
	testing := options
	testing.Tests = true
	var got []string
	for _, o := range generate(t, chartOf(files), testing, generator.Request{Revision: 2}) {
		got = append(got, o.GetName()+" "+settingsOf(o.GetAnnotations()))
	}
	if want := []string{"b ", "a "}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Helm runs the hooks of an event in their order, and deletes them in the reverse order.
func TestHooksOfTwoEventsHaveTheirPlaceInBoth(t *testing.T) {
	files := map[string]string{}
	for i, name := range []string{"c", "b", "a"} {
		files["templates/"+name+".yaml"] = hookObject("batch/v1", "Job", name, "pre-install,post-install", "hook-succeeded",
			fmt.Sprintf(", helm.sh/hook-weight: '%d'", i-1))
	}
	var got []string
	for _, o := range generate(t, chartOf(files), options, generator.Request{Revision: 1}) {
		got = append(got, o.GetName()+" "+settingsOf(o.GetAnnotations()))
	}
	want := []string{
		"c order=-20000,20000 purge-order=-19995,20005 update-policy=recreate",
		"b order=-19999,20001 purge-order=-19996,20004 update-policy=recreate",
		"a order=-19998,20002 purge-order=-19997,20003 update-policy=recreate",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %s", strings.Join(got, "\n"))
	}
}

func TestAHookOfTheInstallationGivesWayToAnObjectOfItsName(t *testing.T) {
	files := map[string]string{
		"templates/a.yaml": hookObject("v1", "ConfigMap", "a", "pre-install", "hook-succeeded", ""),
		"templates/b.yaml": strings.Replace(configMap, "name: b", "name: a", 1),
	}
	for revision, want := range map[int64]int{1: 2, 2: 1} {
		if got := generate(t, chartOf(files), options,
			generator.Request{Revision: revision, Namespace: "x"}); len(got) != want {
			t.Errorf("revision %d: got %d objects", revision, len(got))
		}
	}
}

func TestAWeightThatIsNoNumberIsReported(t *testing.T) {
	files := map[string]string{}
	for name, weight := range map[string]string{"a": "'first'", "b": "'-3'", "c": "''", "d": "'1.5'"} {
		files["templates/"+name+".yaml"] = hookObject("batch/v1", "Job", name, "pre-install", "",
			", helm.sh/hook-weight: "+weight)
	}
	var told []string
	req := generator.Request{Revision: 1, Report: func(r generator.Result) { told = append(told, r.String()) }}
	objects := generate(t, chartOf(files), options, req)
	if got := namesOf(objects); !slices.Equal(got, []string{"b", "a", "c", "d"}) {
		t.Errorf("got %q", got)
	}
	if len(told) != 2 || !strings.Contains(told[0],
		`Job a: metadata.annotations[helm.sh/hook-weight]: the weight "first" is not a number`) {
		t.Errorf("got %q", told)
	}
	told = nil
	generate(t, chartOf(files), helm.Options{Raw: true}, req)
	if len(told) > 0 {
		t.Errorf("raw: %q", told)
	}
}
