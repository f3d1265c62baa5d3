package main

import (
	"slices"
	"testing"
)

func parsed(t *testing.T, stream string) objects {
	t.Helper()
	found, err := parse([]byte(stream))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

const settingsMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: wild}\n"

func TestCompare(t *testing.T) {
	const otherMap = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: other, namespace: wild}\n"
	cases := map[string]struct {
		theirs, ours string
		// first and second are two renderings of the chart.
		first, second string
		hook          bool
		short, notes  []string
	}{
		"equal objects": {theirs: settingsMap + "data: {a: x}", ours: settingsMap + "data: {a: x}"},
		"a field that differs": {
			theirs: settingsMap + "data: {a: x}", ours: settingsMap + "data: {a: z}",
			short: []string{`ConfigMap wild/settings: data.a: Helm's "x", ours "z"`},
		},
		"a field that only one has": {
			theirs: settingsMap + "data: {a: x}", ours: settingsMap + "data: {b: x}",
			short: []string{
				`ConfigMap wild/settings: data.a: Helm's "x", ours nothing`,
				`ConfigMap wild/settings: data.b: Helm's nothing, ours "x"`,
			},
		},
		"marks, status and metadata of the server": {
			theirs: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: wild, uid: a, annotations: " +
				"{meta.helm.sh/release-name: x}," +
				" labels: {app.kubernetes.io/managed-by: Helm}}\nstatus: {a: 1}",
			ours: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: wild, uid: b, annotations: " +
				"{fairlead.io/owner-id: y}}",
		},
		"what the server allocates": {
			theirs: "apiVersion: v1\nkind: Service\nmetadata: {name: a}\n" +
				"spec: {clusterIP: 10.0.0.1, ports: [{port: 80, nodePort: 30001}]}",
			ours: "apiVersion: v1\nkind: Service\nmetadata: {name: a}\n" +
				"spec: {clusterIP: 10.0.0.2, ports: [{port: 80, nodePort: 30002}]}",
		},
		"a headless Service, and one with an address": {
			theirs: "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {clusterIP: None}",
			ours:   "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {clusterIP: 10.0.0.2}",
			short:  []string{`Service a: spec.clusterIP: Helm's "None", ours nothing`},
		},
		"a random value": {
			theirs: settingsMap + "data: {a: x, b: z}", ours: settingsMap + "data: {a: y, b: z}",
			first:  "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {a: 1}",
			second: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {a: 2}",
		},
		"a random value of a Secret, which is stored under another name": {
			theirs: "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {p: eA==}",
			ours:   "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {p: eQ==}",
			first:  "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {p: x}",
			second: "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {p: y}",
		},
		"a random name": {
			theirs: "apiVersion: v1\nkind: Secret\nmetadata: {name: a}",
			ours:   "apiVersion: v1\nkind: Secret\nmetadata: {name: b}",
			first:  "apiVersion: v1\nkind: Secret\nmetadata: {name: c}",
			second: "apiVersion: v1\nkind: Secret\nmetadata: {name: d}",
		},
		"objects that only one has": {
			theirs: settingsMap, ours: otherMap,
			short: []string{"ConfigMap wild/settings: only Helm has it", "ConfigMap wild/other: only we have it"},
		},
		"a hook that was removed": {
			theirs: settingsMap, hook: true,
			notes: []string{"ConfigMap wild/settings: a hook that Helm leaves, and we remove"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			random := maskOf(parsed(t, c.first), parsed(t, c.second))
			got := compare(parsed(t, c.theirs), parsed(t, c.ours), random, func(id) bool { return c.hook })
			if !slices.Equal(got.short, c.short) {
				t.Errorf("the shortfalls of Fairlead: want %q, got %q", c.short, got.short)
			}
			if !slices.Equal(got.notes, c.notes) {
				t.Errorf("the documented differences: want %q, got %q", c.notes, got.notes)
			}
		})
	}
}

func TestParseTakesTheItemsOfLists(t *testing.T) {
	got := parsed(t,
		"# nothing\n---\napiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Secret, metadata: {name: a}}\n---\n"+
			settingsMap)
	if len(got) != 2 || got[id{kind: "Secret", name: "a"}] == nil {
		t.Errorf("want a Secret and a ConfigMap of the chart, got %v", sortedIDs(got))
	}
}

func TestMadeObjectsAndBookkeepingAreNotOfTheChart(t *testing.T) {
	for text, want := range map[string]struct{ made, bookkeeping bool }{
		settingsMap: {},
		"apiVersion: v1\nkind: ConfigMap\n" +
			"metadata: {name: kube-root-ca.crt}": {made: true},
		"apiVersion: v1\nkind: Pod\nmetadata: {name: a, ownerReferences: " +
			"[{controller: true}]}": {made: true},
		"apiVersion: v1\nkind: Pod\nmetadata: {name: a}": {},
		"apiVersion: v1\nkind: Secret\ntype: helm.sh/release.v1\n" +
			"metadata: {name: a}": {bookkeeping: true},
		"apiVersion: v1\nkind: ConfigMap\n" +
			"metadata: {name: a, labels: {fairlead.io/source-of: a}}": {bookkeeping: true},
		"apiVersion: fairlead.io/v1alpha1\nkind: Component\n" +
			"metadata: {name: a}": {bookkeeping: true},
		"apiVersion: v1\nkind: PersistentVolume\n" +
			"metadata: {name: a, annotations: {pv.kubernetes.io/provisioned-by: x}}": {made: true},
	} {
		for _, object := range parsed(t, text) {
			if got := isMade(object); got != want.made {
				t.Errorf("isMade (Kubernetes or a controller created the object): want %t, got %t: %s", want.made, got, text)
			}
			if got := isBookkeeping(object); got != want.bookkeeping {
				t.Errorf("isBookkeeping (the object is a record of Helm or Fairlead): want %t, got %t: %s",
					want.bookkeeping, got, text)
			}
		}
	}
}
