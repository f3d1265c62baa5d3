package inventory

import (
	"errors"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/pkg/component/internal/discovery"
)

func TestWhatASearchSawOfANamespace(t *testing.T) {
	configs := discovery.Resource{
		GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, Kind: "ConfigMap",
		Namespaced: true,
	}
	definitions := discovery.Resource{GroupVersionResource: schema.GroupVersionResource{
		Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
	}}
	refused := errors.New("forbidden")
	for _, c := range []struct {
		name      string
		found     Report
		namespace string
		want      bool
	}{
		{"nothing if no types are served", nil, "shop", false},
		{"nothing if all lists are forbidden", Report{
			{resource: configs, refused: refused},
			{resource: definitions, refused: refused},
		}, "shop", false},
		{"something if a type was listed in all namespaces", Report{{resource: configs, everywhere: true}}, "shop", true},
		{
			"something if a type was listed in the namespace",
			Report{{resource: configs, refused: refused, namespaces: []string{"home", "shop"}}},
			"shop", true,
		},
		{
			"nothing if a type was listed only in another namespace",
			Report{{resource: configs, refused: refused, namespaces: []string{"home"}}},
			"shop", false,
		},
		{"nothing if only a cluster-scoped type was listed", Report{
			{resource: definitions, everywhere: true},
			{resource: configs, refused: refused},
		}, "shop", false},
		{"something if no namespace is given and a type was listed", Report{
			{resource: definitions, everywhere: true},
			{resource: configs, refused: refused},
		}, "", true},
		{
			"nothing if no namespace is given and no type was listed",
			Report{{resource: definitions, refused: refused}},
			"", false,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.found.listedAny(c.namespace); got != c.want {
				t.Errorf("listedAny returned %t, want the opposite", got)
			}
		})
	}
}

func TestWhatASearchMissed(t *testing.T) {
	refused := errors.New("forbidden")
	of := func(name string, everywhere bool, namespaces ...string) listing {
		resource := discovery.Resource{
			GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: name}, Namespaced: true,
		}
		l := listing{resource: resource, everywhere: everywhere, namespaces: namespaces}
		if !everywhere {
			l.refused = refused
		}
		return l
	}
	var many Report
	for i := range 12 {
		many = append(many, of(fmt.Sprintf("type-%02d", i), false))
	}
	for _, c := range []struct {
		name  string
		found Report
		want  string
	}{
		{"nothing if all types were listed", Report{of("configmaps", true)}, ""},
		{
			"types that were not listed at all",
			Report{of("configmaps", true), of("pods", false), of("secrets", false)},
			"not listed, because that is forbidden: pods, secrets",
		},
		{
			"the namespaces in which types were listed",
			Report{
				of("configmaps", false, "a", "b"), of("pods", false), of("secrets", false, "a", "b"),
				of("services", false, "a"),
			},
			"not listed, because that is forbidden: pods; listed in a, b only: configmaps, secrets; listed in a only: services",
		},
		{
			"the names of at most eight types", many,
			"not listed, because that is forbidden: type-00, type-01, type-02, type-03, type-04, type-05, type-06, " +
				"type-07, and 4 more",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.found.unsearched(); got != c.want {
				t.Errorf("the report names the unsearched types %q", got)
			}
		})
	}
}
