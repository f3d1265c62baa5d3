package componentroles

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Requirements are the inputs from which the rules of a component are computed.
type Requirements struct {
	// Namespace is the namespace of the component.
	Namespace string
	// Policies are the default policies of the dependents.
	Policies metav1alpha1.Policies
	Objects  []manifests.Object
	// Recorded are the dependents in the inventory. Those that are not rendered any more are still to be pruned.
	Recorded []metav1alpha1.InventoryEntry
	// References are the Secrets, ConfigMaps and components that the component reads in its namespace. A reference without
	// a name includes all objects of its kind.
	References []metav1alpha1.Reference
	// Lookups are the look-ups of the rendering.
	Lookups []Lookup
	// Inputs are the look-ups of the objects that are inputs.
	Inputs []Lookup
	// Signatures is the Secret with the key of signed calls, or empty. It is read, and not watched.
	Signatures string
	// Managed are additional managed types: foreign instances of these types block the deletion of the component. Their
	// groups contain no wildcards.
	Managed []manifests.ManagedType
	// Resource returns the name of the resource of a type, such as deployments.
	Resource func(schema.GroupVersionKind) string
	// AccountWatches reports whether dependents and inputs are watched as the account, not as the operator.
	AccountWatches bool
}

// Lookup is a look-up of an object, or of all objects of a type if Name is empty. If Namespace is empty, it is in all
// namespaces.
type Lookup struct {
	schema.GroupVersionKind
	Namespace, Name string
}

// Grant is a rule in a namespace, or in the whole cluster if Namespace is empty.
type Grant struct {
	Namespace string
	Rule      rbacv1.PolicyRule
}

// OfAccount returns the sorted grants of the component's account: to write dependents, to escalate and bind roles, to
// read inputs and, if AccountWatches is true, to watch dependents and inputs.
func (r Requirements) OfAccount() []Grant {
	return merged(slices.Concat(r.toWrite(), r.toPrune(), r.toEscalate(), r.toRead(), r.toProtect()))
}

// place is a type in a namespace, or in the whole cluster if namespace is empty.
type place struct {
	namespace string
	resource  schema.GroupResource
}

// toWrite returns a grant for each type and namespace of dependents, and for the namespaces that belong to the
// component.
func (r Requirements) toWrite() []Grant {
	used := map[place]map[string]bool{}
	for _, o := range r.Objects {
		at := place{o.Key.Namespace, r.resource(o.GroupVersionKind())}
		if used[at] == nil {
			used[at] = map[string]bool{}
		}
		for _, verb := range slices.Concat(verbs(o, r.Policies), r.watching()) {
			used[at][verb] = true
		}
	}
	var grants []Grant
	for at, asked := range used {
		grants = append(grants, Grant{at.namespace, rule(at.resource, slices.Collect(maps.Keys(asked)))})
	}
	if r.ownsNamespaces() {
		// A missing namespace is created, and later deleted, or released by a patch.
		verbs := slices.Concat([]string{"get", "create", "patch", "delete"}, r.watching())
		grants = append(grants, Grant{Rule: rule(namespaceResource, verbs)})
	}
	return grants
}

var namespaceResource = schema.GroupResource{Resource: "namespaces"}

// ownsNamespaces reports whether the namespaces that are created for the component belong to it.
func (r Requirements) ownsNamespaces() bool {
	return r.Policies.MissingNamespaces == metav1alpha1.MissingNamespacesOwn
}

// toRead returns grants for references, look-ups, inputs and the Secret of signed calls. If the account watches, the
// grants have no names of objects, because a watch returns all objects of a type in a namespace.
func (r Requirements) toRead() []Grant {
	var grants []Grant
	read := func(namespace string, resource schema.GroupResource, name, verb string) {
		var names []string
		if name != "" && !r.AccountWatches {
			names = []string{name}
		}
		grants = append(grants, Grant{namespace, rule(resource, sorted(append(r.watching(), verb)), names...)})
	}
	for _, ref := range r.References {
		resource := schema.GroupResource{Resource: strings.ToLower(string(ref.Kind)) + "s"}
		if ref.Kind == metav1alpha1.ComponentReference {
			resource.Group = v1alpha1.GroupVersion.Group
		}
		read(r.Namespace, resource, ref.Name, "get")
	}
	for _, l := range slices.Concat(r.Lookups, r.Inputs) {
		verb := "get"
		if l.Name == "" {
			verb = "list"
		}
		read(l.Namespace, r.resource(l.GroupVersionKind), l.Name, verb)
	}
	if r.Signatures != "" {
		secrets := schema.GroupResource{Resource: "secrets"}
		grants = append(grants, Grant{r.Namespace, rule(secrets, []string{"get"}, r.Signatures)})
	}
	return grants
}

func (r Requirements) resource(gvk schema.GroupVersionKind) schema.GroupResource {
	return schema.GroupResource{Group: gvk.Group, Resource: r.Resource(gvk)}
}

func rule(resource schema.GroupResource, verbs []string, names ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{
		APIGroups: []string{resource.Group}, Resources: []string{resource.Resource}, Verbs: verbs,
		ResourceNames: names,
	}
}

// merged joins rules with the same verbs: rules for several resources of a group, and rules for several names of a
// resource.
func merged(grants []Grant) []Grant {
	byRights := map[string]*Grant{}
	for _, g := range grants {
		slices.SortFunc(g.Rule.Verbs, func(a, b string) int {
			return cmp.Compare(slices.Index(order, a),
				slices.Index(order, b))
		})
		key := g.Namespace + "|" + g.Rule.APIGroups[0] + "|" + strings.Join(g.Rule.Verbs, ",")
		if len(g.Rule.ResourceNames) > 0 {
			key += "|" + g.Rule.Resources[0]
		}
		if byRights[key] == nil {
			byRights[key] = &g
			continue
		}
		r := &byRights[key].Rule
		r.Resources, r.ResourceNames = append(r.Resources, g.Rule.Resources...),
			append(r.ResourceNames, g.Rule.ResourceNames...)
	}
	found := make([]Grant, 0, len(byRights))
	for _, key := range slices.Sorted(maps.Keys(byRights)) {
		g := *byRights[key]
		g.Rule.Resources, g.Rule.ResourceNames = sorted(g.Rule.Resources), sorted(g.Rule.ResourceNames)
		found = append(found, g)
	}
	return found
}

func sorted(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}
