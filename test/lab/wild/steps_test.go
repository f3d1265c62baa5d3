package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/test/program"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

func TestJudge(t *testing.T) {
	there := parsed(t, settingsMap)
	installed := func(s step) outcome { return outcome{Step: s, there: there, Executed: []string{"jobs/a"}} }
	cases := map[string]struct {
		theirs, ours []outcome
		verdict      string
		short, notes []string
	}{
		"equal": {
			theirs: []outcome{installed(stepInstall)}, ours: []outcome{installed(stepInstall)}, verdict: "equal",
		},
		"a step that fails": {
			theirs: []outcome{installed(stepInstall)}, ours: []outcome{{Step: stepInstall, Failure: "too large"}},
			verdict: "SHORT",
			short:   []string{"install: too large"},
		},
		"a step in which Helm fails": {
			theirs: []outcome{{Step: stepUpgrade, Failure: "conflict"}}, ours: []outcome{installed(stepUpgrade)},
			verdict: "equal",
			notes:   []string{"upgrade: Helm fails, and the step is not compared: conflict"},
		},
		"other hooks": {
			theirs: []outcome{installed(stepInstall)}, ours: []outcome{{Step: stepInstall, there: there}}, verdict: "SHORT",
			short: []string{"install: hooks: Helm's [jobs/a], ours []"},
		},
		"an upgrade without a change, which is a revision of Helm": {
			theirs: []outcome{installed(stepRepeat)}, ours: []outcome{{Step: stepRepeat}}, verdict: "equal",
		},
		"writes although nothing changed": {
			theirs: []outcome{installed(stepRepeat)}, ours: []outcome{{Step: stepRepeat, there: there, Writes: 2}},
			verdict: "SHORT",
			short:   []string{"repeat: 2 writes to objects of the chart, although nothing changed"},
		},
		"an object that is left behind": {
			theirs: []outcome{{Step: stepUninstall}}, ours: []outcome{{Step: stepUninstall, there: there}}, verdict: "SHORT",
			short: []string{"uninstall: ConfigMap wild/settings: left behind"},
		},
		"a claim, which is kept": {
			theirs: []outcome{{Step: stepUninstall}}, verdict: "equal",
			ours: []outcome{{
				Step: stepUninstall, there: parsed(t,
					"apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data, namespace: wild}"),
			}},
			notes: []string{"uninstall: PersistentVolumeClaim wild/data: a claim that Helm deletes, and we keep"},
		},
		"an object that only Helm leaves behind": {
			theirs: []outcome{{Step: stepUninstall, there: there}}, ours: []outcome{{Step: stepUninstall}}, verdict: "equal",
			notes: []string{"uninstall: ConfigMap wild/settings: only Helm leaves it behind"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := result{Helm: c.theirs, Fairlead: c.ours}
			r.judge(rendering{hooks: hooks{}})
			if r.verdict() != c.verdict || !slices.Equal(r.Short, c.short) || !slices.Equal(r.Notes, c.notes) {
				t.Errorf("want the verdict %s, shortfalls %q and notes %q; got %s, %q and %q", c.verdict, c.short, c.notes,
					r.verdict(), r.Short, r.Notes)
			}
		})
	}
}

func TestReportAnswersOneOnAShortfall(t *testing.T) {
	done := []outcome{{Step: stepInstall, Took: time.Second}}
	equal := result{judgement: judgement{Chart: "plain", Version: "1.0.0"}, Helm: done, Fairlead: done}
	uncounted := result{judgement: judgement{Chart: "broken", Version: "1.0.0", Unusable: "a value\nis missing"}}
	var out strings.Builder
	if code := report(&out, []result{equal, uncounted}); code != 0 {
		t.Errorf("want the exit code 0 without shortfalls, got %d", code)
	}
	fallen := equal
	fallen.Chart, fallen.Short = "fallen", []string{"install: too | large"}
	if code := report(&out, []result{equal, fallen, uncounted}); code != 1 {
		t.Errorf("want the exit code 1 after a shortfall, got %d", code)
	}
	for _, text := range []string{
		"| fallen | 1.0.0   | 0       | 1.0 - - - - |", `SHORT: install: too \| large`, "not counted: a value is missing",
		"3 charts: 1 equal, 1 with a shortfall, 1 not counted",
	} {
		if !strings.Contains(out.String(), text) {
			t.Errorf("the report does not contain %q:\n%s", text, &out)
		}
	}
}

func TestHooksThatExecuteComeInTheirOrder(t *testing.T) {
	const hook = "---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: %, annotations: {helm.sh/hook: pre-install}}\n"
	rendered := parsed(t, strings.ReplaceAll(hook, "%", "a")+strings.ReplaceAll(hook, "%", "b")+
		"---\napiVersion: v1\nkind: Pod\nmetadata: {name: t, annotations: {helm.sh/hook: test}}\n"+
		"---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: s, annotations: {helm.sh/hook: pre-install}}\n---\n"+
		settingsMap)
	all := hooksOf(rendered)
	created := func(resource, name string) testcluster.Event {
		return testcluster.Event{Verb: "create", Resource: resource, Name: name, Code: 201}
	}
	events := testcluster.Events{
		created("serviceaccounts", "s"), created("jobs", "b"), created("configmaps", "settings"), created("jobs", "a"),
		created("jobs", "b"),
		created("pods", "t"),
		{Verb: "patch", Resource: "jobs", Name: "a", Code: 200},
		{Verb: "create", Resource: "jobs", Name: "a", Code: 409},
	}
	want := []string{"jobs/b", "jobs/a", "jobs/b", "serviceaccounts/s"}
	if got := all.created(events); !slices.Equal(got, want) {
		t.Errorf("want the created hooks %q, got %q", want, got)
	}
}

func TestWritesOfTheOperator(t *testing.T) {
	for name, c := range map[string]struct {
		event testcluster.Event
		want  bool
	}{
		"of an object": {testcluster.Event{Verb: "patch", Resource: "deployments", User: program.OperatorUser}, true},
		"of a component": {testcluster.Event{
			Verb: "patch", Resource: "components", APIGroup: "fairlead.io",
			User: program.OperatorUser,
		}, false},
		"of its Lease": {testcluster.Event{Verb: "update", Resource: "leases", User: program.OperatorUser}, false},
		"that is a dry run": {
			testcluster.Event{Verb: "patch", RequestURI: "/x?dryRun=All", User: program.OperatorUser},
			false,
		},
		"that is a read":   {testcluster.Event{Verb: "list", Resource: "deployments", User: program.OperatorUser}, false},
		"by somebody else": {testcluster.Event{Verb: "patch", Resource: "deployments", User: "admin"}, false},
	} {
		if got := isWrite(c.event); got != c.want {
			t.Errorf("isWrite of the request %s: want %t, got %t", name, c.want, got)
		}
	}
}
