package main

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/test/testcluster"
)

// annotationHook makes an object a hook of Helm.
const annotationHook = "helm.sh/hook"

// hooks contains the hooks of a chart, in the form "PLURAL/NAME", such as "jobs/migrate". The namespace is left out,
// because some manifests do not set it.
type hooks map[string]bool

// hooksOf returns the hooks among rendered objects. It leaves out the hooks for tests, because neither program runs
// them.
func hooksOf(rendered objects) hooks {
	found := hooks{}
	for key, object := range rendered {
		events := object.GetAnnotations()[annotationHook]
		if events == "" || strings.HasPrefix(events, "test") {
			continue
		}
		plural, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Group: key.group, Kind: key.kind})
		found[plural.Resource+"/"+key.name] = true
	}
	return found
}

// has reports whether an object is a hook.
func (h hooks) has(key id) bool {
	plural, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Group: key.group, Kind: key.kind})
	return h[plural.Resource+"/"+key.name]
}

// created returns the hooks that were created: Jobs and Pods in the order of their creation, and then all other hooks,
// sorted by name.
func (h hooks) created(events testcluster.Events) (executed []string) {
	others := map[string]bool{}
	for _, event := range events {
		hook := event.Resource + "/" + event.Name
		if event.Code != 201 || event.Subresource != "" || !h[hook] {
			continue
		}
		if event.Resource == "jobs" || event.Resource == "pods" {
			executed = append(executed, hook)
			continue
		}
		others[hook] = true
	}
	return append(executed, slices.Sorted(maps.Keys(others))...)
}
