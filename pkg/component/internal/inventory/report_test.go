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
		GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, Kind: "ConfigMap", Namespaced: true,
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
		{"nothing where nothing is served", nil, "shop", false},
		{"nothing where all is forbidden", Report{{resource: configs, refused: refused}, {resource: definitions, refused: refused}}, "shop", false},
		{"something where a type was listed in all namespaces", Report{{resource: configs, everywhere: true}}, "shop", true},
		{"something where a type was listed in it", Report{{resource: configs, refused: refused, namespaces: []string{"home", "shop"}}}, "shop", true},
		{"nothing where one was listed in others", Report{{resource: configs, refused: refused, namespaces: []string{"home"}}}, "shop", false},
		{"nothing where only what has no namespace was listed", Report{{resource: definitions, everywhere: true}, {resource: configs, refused: refused}}, "shop", false},
		{"something where there is no namespace, and anything was listed", Report{{resource: definitions, everywhere: true}, {resource: configs, refused: refused}}, "", true},
		{"nothing where there is no namespace, and nothing was", Report{{resource: definitions, refused: refused}}, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.found.listedAny(c.namespace); got != c.want {
				t.Errorf("got %t", got)
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
		{"nothing where all was listed", Report{of("configmaps", true)}, ""},
		{"types that were not listed at all", Report{of("configmaps", true), of("pods", false), of("secrets", false)}, "not listed, because that is forbidden: pods, secrets"},
		{
			"where the others were",
			Report{of("configmaps", false, "a", "b"), of("pods", false), of("secrets", false, "a", "b"), of("services", false, "a")},
			"not listed, because that is forbidden: pods; listed in a, b only: configmaps, secrets; listed in a only: services",
		},
		{
			"no more than eight by name", many,
			"not listed, because that is forbidden: type-00, type-01, type-02, type-03, type-04, type-05, type-06, type-07, and 4 more",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.found.unsearched(); got != c.want {
				t.Errorf("got %q", got)
			}
		})
	}
}
