package manifests

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestManagedTypeMatches(t *testing.T) {
	for _, c := range []struct {
		name, group, kind string
		matches, others   []string
	}{
		{
			"a type", "example.com", "Widget",
			[]string{"Widget.example.com"},
			[]string{"Gadget.example.com", "Widget.a.example.com", "Widget.other.com"},
		},
		{
			"all kinds of a group", "example.com", "*",
			[]string{"Widget.example.com", "Gadget.example.com"},
			[]string{"Widget.a.example.com"},
		},
		{
			"groups with a suffix", "*.example.com", "Widget",
			[]string{"Widget.a.example.com", "Widget.b.a.example.com"},
			[]string{"Widget.example.com", "Widget.myexample.com"},
		},
		{
			"all groups", "*", "Widget",
			[]string{"Widget.example.com", "Widget.metrics.k8s.io"},
			[]string{"Gadget.example.com"},
		},
		{"all groups except built-in groups of " +
			"Kubernetes", "*", "*", []string{"Widget.example.com"}, []string{
			"ConfigMap.", "Deployment.apps",
			"CustomResourceDefinition.apiextensions.k8s.io",
		}},
		{
			"groups with a suffix, except built-in groups of " +
				"Kubernetes", "*.k8s.io", "*",
			[]string{"Gateway.gateway.networking.k8s.io"},
			[]string{"Role.rbac.authorization.k8s.io", "Ingress.networking.k8s.io"},
		},
		{"a built-in group that is named", "apps", "*", []string{"Deployment.apps"}, []string{"Job.batch"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := NewManagedType(c.group, c.kind)
			if err != nil {
				t.Fatal(err)
			}
			if parsed, err := ParseManagedType(m.String()); err != nil || parsed != m {
				t.Errorf("%q is parsed as %v, %v", m, parsed, err)
			}
			for _, text := range c.matches {
				if !m.Matches(schema.ParseGroupKind(text)) {
					t.Errorf("the managed type does not match %s", text)
				}
			}
			for _, text := range c.others {
				if m.Matches(schema.ParseGroupKind(text)) {
					t.Errorf("matches %s", text)
				}
			}
		})
	}
}

func TestManagedTypesThatAreNone(t *testing.T) {
	for _, c := range [][2]string{
		{"", "Widget"},
		{"example.com", ""},
		{"*example.com", "Widget"},
		{"*.", "Widget"},
		{"a.*.com", "Widget"},
		{"example.com", "W*"},
		{"example.com", "a.b"},
	} {
		if m, err := NewManagedType(c[0], c[1]); err == nil {
			t.Errorf("group %q, kind %q is accepted as %v", c[0], c[1], m)
		}
	}
}
