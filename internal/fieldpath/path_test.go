package fieldpath_test

import (
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/fieldpath"
)

func TestPathsAreParsed(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"spec.replicas", "spec.replicas"},
		{".spec.replicas", "spec.replicas"},
		{"spec.template.spec.containers[name=web].image", `spec.template.spec.containers[name="web"].image`},
		{`spec.template.spec.containers[name="web"].image`, `spec.template.spec.containers[name="web"].image`},
		{"spec.template.spec.containers[web].image", `spec.template.spec.containers["web"].image`},
		{"spec.ports[protocol=TCP, port=80].nodePort", `spec.ports[port="80",protocol="TCP"].nodePort`},
		{"spec.ports[*].nodePort", "spec.ports[*].nodePort"},
		{`metadata.annotations["a.b/c"]`, `metadata.annotations["a.b/c"]`},
		{`metadata.annotations['a.b/c']`, `metadata.annotations["a.b/c"]`},
		{"metadata.annotations[a.b/c]", `metadata.annotations["a.b/c"]`},
		{`data["0"]`, `data["0"]`},
		{`data['"']`, `data['"']`},
		{"spec[x][y].z", `spec["x"]["y"].z`},
	} {
		t.Run(c.text, func(t *testing.T) {
			p, err := fieldpath.Parse(c.text)
			if err != nil || p.String() != c.want {
				t.Fatalf("got %s, %v", p, err)
			}
			if again, err := fieldpath.Parse(p.String()); err != nil || again.String() != c.want {
				t.Errorf("parsed again: got %s, %v", again, err)
			}
		})
	}
}

func TestPathsThatAreRefused(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "it is empty"},
		{".", "it is empty"},
		{"spec.", "a name is missing"},
		{"spec..replicas", "a name is missing"},
		{"[name=web]", "a name is missing"},
		{"spec.*", "write a star in brackets: [*]"},
		{"spec.a/b", `write the name "a/b" in brackets and quotes: ["a/b"]`},
		{"spec replicas", "in brackets and quotes"},
		{"spec.containers[0].image", "[0] is a position"},
		{"spec.containers[].image", "a bracket is empty"},
		{`data[""]`, "a bracket is empty"},
		{"spec.containers[name=web", "a bracket is not closed"},
		{`spec.containers[name="web].image`, "a quote is not closed"},
		{`spec.containers[name="web"x].image`, "a bracket is not closed"},
		{"spec.containers[name=web]image", "want a dot or a bracket"},
		{"spec.containers[name=web,name=db].image", `a bracket has the key "name" twice`},
		{"spec.containers[web,name=db].image", "want [name=value]"},
		{"spec.containers[=web].image", "want [name=value]"},
		{`spec.containers[?(@.name=="web")].image`, "a filter [?(...)] is not supported"},
		{"spec.containers[name=web].name", "name identifies the item of the list"},
		{strings.Repeat("a", 513), "it has 513 bytes; at most 512 are allowed"},
		{strings.Repeat("a.", 32) + "a", "it has more than 32 steps"},
	} {
		t.Run(c.text, func(t *testing.T) {
			if p, err := fieldpath.Parse(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %s, %v", p, err)
			}
		})
	}
}

func TestListsOfPaths(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{
			"spec.replicas, spec.ports[port=80,protocol=TCP].nodePort",
			`spec.replicas spec.ports[port="80",protocol="TCP"].nodePort`,
		},
		{"spec.replicas\n  spec.paused\n", "spec.replicas spec.paused"},
		{"spec.replicas,\nspec.paused,", "spec.replicas spec.paused"},
		{`data["a,b"], data["c]d"]`, `data["a,b"] data["c]d"]`},
		{"", "error: it has no path"},
		{",", "error: it has no path"},
		{"spec.a,,spec.b", `error: path "": it is empty`},
		{"spec.a[0], spec.b[1]", "[1] is a position"},
		{strings.Repeat("a,", 33), "error: it has 33 paths; at most 32 are allowed"},
	} {
		t.Run(c.text, func(t *testing.T) {
			paths, err := fieldpath.ParseList(c.text)
			var texts []string
			for _, p := range paths {
				texts = append(texts, p.String())
			}
			got := strings.Join(texts, " ")
			if err != nil {
				got = "error: " + err.Error()
			}
			if !strings.Contains(got, c.want) {
				t.Errorf("got %s", got)
			}
		})
	}
}
