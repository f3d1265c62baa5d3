package main

import (
	"slices"
	"strings"
	"testing"
)

func TestCommandsOfThePage(t *testing.T) {
	t.Chdir("../../..")
	commands, err := readMigrationCommands()
	if err != nil {
		t.Fatal(err)
	}
	c := chart{folder: "/charts/db"}
	c.Release = "main"
	there, back := forChart(commands.there, c), forChart(commands.back, c)
	for _, want := range []string{
		"helm get values main -o yaml > values.yaml", "fairlead apply main /charts/db -f values.yaml --adopt --wait",
		"kubectl delete secret -l owner=helm,name=main",
	} {
		if !strings.Contains(there, want) {
			t.Errorf("want the command %q, got\n%s", want, there)
		}
	}
	for _, want := range []string{
		"kubectl patch component main", "fairlead delete main",
		"helm upgrade --install main /charts/db",
	} {
		if !strings.Contains(back, want) {
			t.Errorf("want the command %q on the way back, got\n%s", want, back)
		}
	}
	if all := there + back; strings.Contains(all, "shop") || strings.Contains(all, "helm uninstall") {
		t.Errorf("want no command about the example, and none of comments, got\n%s", all)
	}
}

func TestJudgeKept(t *testing.T) {
	const (
		set = "apiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {name: web-1, namespace: wild, uid: r1, " +
			"ownerReferences: [{uid: d1, controller: true, kind: Deployment}]}\n---\n"
		web = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: wild, uid: d1}\n" +
			"spec: {replicas: 1}\n---\n"
		pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: web-1-x, namespace: wild, uid: p1, ownerReferences: [{uid: r1, " +
			"controller: true}]}\n"
		whole = web + set + pod
	)
	cases := map[string]struct {
		after        string
		random       mask
		kept         string
		short, notes []string
	}{
		"everything": {after: whole, kept: "2, 1, 0"},
		"marks of a program": {
			after: strings.Replace(whole, "uid: d1", "labels: {fairlead.io/owner-id: x}, uid: d1", 1),
			kept:  "2, 1, 0",
		},
		"another UID": {
			after: strings.Replace(whole, "uid: d1", "uid: d2", 1), kept: "1, 1, 0",
			short: []string{"there: Deployment.apps wild/web: created again"},
		},
		"another field": {
			after: strings.Replace(whole, "replicas: 1", "replicas: 2", 1), kept: "2, 1, 0",
			short: []string{"there: Deployment.apps wild/web: spec.replicas: 1 became 2"},
		},
		"no pod": {after: web + set, kept: "2, 0, 0", short: []string{"there: Pod wild/web-1-x: not kept"}},
		"a new object": {
			after: whole + "---\n" + settingsMap, kept: "2, 1, 0",
			short: []string{"there: ConfigMap wild/settings: did not exist before"},
		},
		"a random annotation": {
			after: web + set, kept: "2, 0, 0", random: mask{paths: map[id][]string{
				{
					group: "apps", kind: "Deployment", namespace: "wild",
					name: "web",
				}: {"spec.template.metadata.annotations.checksum"},
			}},
			notes: []string{"there: Pod wild/web-1-x: not kept, because of random values of the chart"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var m migration
			before, after := parsed(t, whole), parsed(t, c.after)
			m.judgeKept(stepThere, before, after, c.random)
			if kept := before.keptIn(after).String(); kept != c.kept || !slices.Equal(m.Short, c.short) || !slices.Equal(m.Notes,
				c.notes) {
				t.Errorf("want %s kept, shortfalls %q and notes %q; got %s, %q and %q", c.kept, c.short, c.notes, kept,
					m.Short, m.Notes)
			}
		})
	}
}

func TestLastingObjects(t *testing.T) {
	const hook = "apiVersion: batch/v1\nkind: Job\n" +
		"metadata: {name: %s, namespace: wild, uid: %s, annotations: {helm.sh/hook: pre-install}}\n"
	pod := func(owner string) string {
		return "---\napiVersion: v1\nkind: Pod\nmetadata: {name: of-" + owner +
			", namespace: wild, ownerReferences: [{uid: " + owner + ", controller: true}]}\n"
	}
	all := parsed(t, strings.ReplaceAll(hook, "%s", "migrate")+pod("migrate")+
		"---\napiVersion: batch/v1\nkind: CronJob\nmetadata: {name: nightly, namespace: wild, uid: cron}\n"+pod("cron")+
		"---\napiVersion: v1\nkind: Event\nmetadata: {name: e, namespace: wild}\n"+
		"---\napiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db, namespace: wild, uid: set}\n"+pod("set"))
	var names []string
	for _, key := range sortedIDs(all.lasting(hooks{"jobs/migrate": true})) {
		names = append(names, key.name)
	}
	if want := []string{"nightly", "of-set", "db"}; !slices.Equal(names, want) {
		t.Errorf("want %q, got %q", want, names)
	}
}

func TestTracesOfFairlead(t *testing.T) {
	var m migration
	m.judgeTraces(stepBack, parsed(t, strings.Replace(settingsMap, "name: settings",
		"name: settings, labels: {fairlead.io/owner-id: x, "+
			"app: a}, annotations: {fairlead.io/released-by: x}, finalizers: [components.fairlead.io/finalizer]", 1)))
	want := []string{
		"back: ConfigMap wild/settings: components.fairlead.io/finalizer remains",
		"back: ConfigMap wild/settings: fairlead.io/owner-id remains",
	}
	if !slices.Equal(m.Short, want) {
		t.Errorf("want %q, got %q", want, m.Short)
	}
}
