package depgraph_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// holed returns a ConfigMap with holes for the given names, and with settings.
func holed(name, text string, settings ...string) string {
	return strings.TrimSuffix(configMap(name, append(settings, `bind: "true"`)...), "}\n") + ", data: {x: '" +
		text + "'}}\n"
}

func TestExportersAreDependencies(t *testing.T) {
	stream := holed("a", "${{ b }} ${{ c }}", depends("ConfigMap c?, ConfigMap other")) + configMap("b",
		"export: b=self.data.b") +
		configMap("c", "export: c=self.data.c", depends("ConfigMap other")) + configMap("other") + holed("wave",
		"${{ b }}${{ c }}")
	objects, err := normaliseStream(t, stream)
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	byName := map[string]manifests.Object{}
	for _, o := range objects {
		order, byName[o.Key.Name] = append(order, o.Key.Name), o
	}
	if got := strings.Join(order, " "); got != "b other wave c a" {
		t.Errorf("the order is %s", got)
	}
	a := byName["a"]
	const list = "ConfigMap c?, ConfigMap other, ConfigMap shop/b, ConfigMap shop/c"
	if got := a.Body.GetAnnotations()["shop.example.com/depends-on"]; got != list || a.DependsOn() != list {
		t.Errorf("the live object depends on %q, the record says %q", got, a.DependsOn())
	}
	if got := a.Body.GetAnnotations()["shop.example.com/digest"]; got != a.Digest {
		t.Errorf("the annotation has the digest %s, the object %s", got, a.Digest)
	}
	if got := fmt.Sprint(a.Edges()); got != "[ConfigMap shop/b ConfigMap shop/c ConfigMap shop/other]" {
		t.Errorf("the edges are %s", got)
	}
	wave := byName["wave"]
	if got := fmt.Sprint(wave.Settings.Graph.Exporters); wave.InGraph() || wave.DependsOn() != "" ||
		got != "[ConfigMap shop/b ConfigMap shop/c]" {
		t.Errorf("an object of a wave stays there, and knows the exporters: %s", got)
	}
}

func TestContradictionsOfDependenciesAndValues(t *testing.T) {
	for name, c := range map[string]struct{ stream, want string }{
		"a cycle of a dependency and a value": {
			holed("a", "${{ b }}") + configMap("b", "export: b=self.data.b", depends("ConfigMap a")),
			"the objects wait for each other, so none of them could be applied: ConfigMap shop/a needs ConfigMap shop/b -> " +
				"ConfigMap shop/a; remove one of these dependencies (->), or of these uses of an exported value (needs)",
		},
		"a cycle through objects with dependencies": {
			holed("a", "${{ c }}", depends("ConfigMap d")) + configMap("b", depends("ConfigMap a")) +
				configMap("c", "export: c=self.data.c", depends("ConfigMap b")) + configMap("d"),
			"ConfigMap shop/a needs ConfigMap shop/c -> ConfigMap shop/b -> ConfigMap shop/a",
		},
		"an object with dependencies that binds its own value": {
			holed("a", "${{ a }}", "export: a=self.data.x", depends("ConfigMap b")) + configMap("b"),
			"ConfigMap shop/a: it waits for a value that depends on itself: ConfigMap shop/a needs ConfigMap shop/a",
		},
		"a cycle of a condition and a value": {
			holed("a", "${{ b }}", "export: a=self.data.x") + configMap("b", "export: b=self.data.b",
				"include-when: exports.a == 1"),
			"it waits for a value that depends on itself: ConfigMap shop/a needs ConfigMap shop/b needs ConfigMap shop/a",
		},
		"a condition that reads an unknown export": {
			configMap("a", "include-when: exports.none == 1") + configMap("b", "export: b=self.data.b"),
			"ConfigMap shop/a: a condition reads exports.none, which no object exports; the exports are b",
		},
		"a condition that reads an export of a later wave": {
			configMap("a", "include-when: exports.b == 1") + configMap("b", "export: b=self.data.b", `order: "2"`),
			"ConfigMap shop/a: a condition reads an export: it waits for b of ConfigMap shop/b, whose order 2 is after " +
				"its own order 0",
		},
		"a condition that reads a value of a Secret": {
			node("v1", "Secret", "name: a", "active-when: exports.b == 'x'") + node("v1", "Secret", "name: b",
				"export: b=self.stringData.b"),
			"Secret shop/a: a condition reads an export: b is a value of Secret shop/b, and values of Secrets can be bound " +
				"into the data of Secrets only",
		},
		"a value of an object that depends on a later wave": {
			holed("a", "${{ b }}") + configMap("b", "export: b=self.data.b", depends("ConfigMap c")) + configMap("c",
				depends("ConfigMap d")) +
				configMap("d", `order: "3"`),
			"ConfigMap shop/a: it uses a value of ConfigMap shop/b, which depends on ConfigMap shop/d, whose order 3 is " +
				"after its own " +
				"order 0; give it order 3 or a later one",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := normaliseStream(t, c.stream); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestObjectsOfTheGraphMayUseValuesOfAllWaves(t *testing.T) {
	stream := holed("a", "${{ b }}", depends("ConfigMap c")) + configMap("b", "export: b=self.data.b", `order: "7"`) +
		configMap("c", `order: "-3"`) + holed("late", "${{ d }}", `order: "7"`) + configMap("d", "export: d=self.data.d",
		depends("ConfigMap b"))
	if _, err := normaliseStream(t, stream); err != nil {
		t.Error(err)
	}
}

func TestTooManyExporters(t *testing.T) {
	var stream, holes strings.Builder
	for i := range 100 {
		stream.WriteString(configMap(fmt.Sprintf("e%d", i), fmt.Sprintf("export: e%d=self.data.x", i)))
		fmt.Fprintf(&holes, "${{ e%d }}", i)
	}
	_, err := normaliseStream(t, stream.String()+holed("a", holes.String(), depends("ConfigMap z"))+configMap("z"))
	if want := "it has 101 elements together with the objects whose values it binds, more than 100"; err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("got %v", err)
	}
}
