package applier

import (
	"fmt"
	"slices"
	"strings"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/validate"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// unsupported returns the fault of a write that the API server has no verb for, or whose kind is only a subresource.
// The OpenAPI document says which verbs a type has, and discovery confirms it, so a type with all verbs costs no
// request. A type without a schema is looked up in discovery. A type that a definition in the set defines has all
// verbs.
func (v *validation) unsupported(a plan.Action) []validate.Fault {
	gvk := a.Object.GroupVersionKind()
	if v.defined[gvk.GroupKind()] != nil {
		return nil
	}
	if a.Object.Scope == manifests.ScopeUnknown {
		if v.client.Discovery.IsSubresource(gvk) {
			return []validate.Fault{validate.Subresource(gvk.GroupKind())}
		}
		return nil
	}
	verb := verbOf(a)
	if v.types[gvk].Supports(verb) {
		return nil
	}
	mapping, err := v.client.Discovery.Mapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return nil
	}
	verbs, err := v.client.Discovery.Verbs(mapping.Resource)
	if err != nil || len(verbs) == 0 || slices.Contains(verbs, verb) {
		return nil
	}
	why := fmt.Sprintf("its API server does not support %s, but only %s", verb, strings.Join(verbs, ", "))
	return []validate.Fault{validate.NotStored(gvk.GroupKind(), why)}
}

// verbOf returns the verb of the request that writes a manifest. A server-side apply is a patch, also if it creates the
// object.
func verbOf(a plan.Action) string {
	switch replaces := a.Policy == metav1alpha1.UpdateReplace; {
	case replaces && a.Verb == plan.VerbCreate:
		return "create"
	case a.Verb == plan.VerbReplace:
		return "update"
	}
	return "patch"
}
