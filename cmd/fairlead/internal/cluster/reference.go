package cluster

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
)

// Reference is the name of a component in an argument. If Type is empty, it is the type of the ready-made operator.
type Reference struct {
	Type, Name string
}

// ParseReference reads NAME or TYPE/NAME.
func ParseReference(text string) (Reference, error) {
	kind, name, typed := strings.Cut(text, "/")
	if !typed {
		kind, name = "", text
	}
	if name == "" || typed && kind == "" {
		return Reference{}, exit.BadUsage("component %q: want NAME or TYPE/NAME", text)
	}
	if problems := content.IsPathSegmentName(name); len(problems) > 0 {
		return Reference{}, exit.BadUsage("component %q: the name %s", text, strings.Join(problems, ", "))
	}
	return Reference{Type: kind, Name: name}, nil
}

// Target is a component of a type that the cluster serves.
type Target struct {
	Mapping *meta.RESTMapping
	// Namespace is empty for a cluster-scoped type.
	Namespace, Name string
}

// String returns the name in the form of kubectl, such as component.fairlead.io/shop.
func (t Target) String() string {
	gk := schema.GroupKind{Group: t.Mapping.GroupVersionKind.Group, Kind: strings.ToLower(t.Mapping.GroupVersionKind.Kind)}
	return gk.String() + "/" + t.Name
}

// Command returns a command of this program about the component, for a message: fairlead resume -n shop web.
func (t Target) Command(command string) string {
	text := "fairlead " + command
	if t.Namespace != "" {
		text += " -n " + t.Namespace
	}
	if t.IsReadyMade() {
		return text + " " + t.Name
	}
	return text + " " + t.String()
}

// IsReadyMade reports whether the type is Component, which is the type of the ready-made operator.
func (t Target) IsReadyMade() bool {
	return t.Mapping.GroupVersionKind.GroupKind() == readyMade
}

var readyMade = schema.GroupKind{Group: v1alpha1.GroupVersion.Group, Kind: "Component"}

// Resolve finds the type of a component. The type Component must be served in the version of this program.
func (c *Cluster) Resolve(ref Reference) (Target, error) {
	mapping, err := c.ResolveType(ref.Type)
	if err != nil {
		return Target{}, err
	}
	target := Target{Mapping: mapping, Name: ref.Name}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		target.Namespace = c.Namespace
	}
	return target, nil
}

// ResolveType finds a type by its kind, or by the name of its resource: plural, singular or short, with or without
// group and version.
func (c *Cluster) ResolveType(text string) (*meta.RESTMapping, error) {
	if text == "" {
		mapping, err := c.mapper.RESTMapping(readyMade, v1alpha1.GroupVersion.Version)
		if meta.IsNoMatchError(err) {
			return nil, exit.Unasked("the cluster does not serve components.%s, version %s; install the custom resource "+
				"definition of components first",
				readyMade.Group, v1alpha1.GroupVersion.Version)
		}
		return mapping, err
	}
	gvk, err := typeNames{c.mapper, c.served}.kindOf(text)
	if meta.IsNoMatchError(err) {
		return nil,
			exit.BadInput("the cluster does not serve a type %q; kubectl api-resources lists the types that it serves", text)
	}
	if err != nil {
		return nil, err
	}
	if gvk.GroupKind() == readyMade {
		return c.ResolveType("")
	}
	return c.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
}

// typeNames finds types by the names that users write.
type typeNames struct {
	mapper meta.RESTMapper
	served discovery.CachedDiscoveryInterface
}

func (n typeNames) kindOf(text string) (schema.GroupVersionKind, error) {
	// As in kubectl, widgets.v1.demo.example.com is first resolved with version v1 and group demo.example.com, and then
	// with group v1.demo.example.com.
	versioned, unversioned := schema.ParseResourceArg(strings.ToLower(text))
	if versioned != nil {
		if gvk, err := n.mapper.KindFor(*versioned); err == nil {
			return gvk, nil
		}
	}
	gvk, noResource := n.mapper.KindFor(unversioned.WithVersion(""))
	if noResource == nil {
		return gvk, n.checkUnambiguous(unversioned, gvk)
	}
	if !meta.IsNoMatchError(noResource) {
		return gvk, noResource
	}
	_, kind := schema.ParseKindArg(text)
	mapping, err := n.mapper.RESTMapping(kind)
	if err != nil {
		return schema.GroupVersionKind{}, err
	}
	return mapping.GroupVersionKind, nil
}

// checkUnambiguous returns an error if several groups have a type with this name, and the name has no group. Built-in
// types have precedence, as in kubectl. A group that ends in k8s.io is not built in for this reason alone: the group of
// the Gateway API is an example.
func (n typeNames) checkUnambiguous(named schema.GroupResource, chosen schema.GroupVersionKind) error {
	if named.Group != "" || clientgoscheme.Scheme.IsGroupRegistered(chosen.Group) {
		return nil
	}
	all, err := n.mapper.ResourcesFor(named.WithVersion(""))
	if err != nil {
		return err
	}
	names, err := n.abbreviated(named.Resource)
	if err != nil {
		return err
	}
	for _, resource := range all {
		names = append(names, resource.GroupResource().String())
	}
	slices.Sort(names)
	if names = slices.Compact(names); len(names) > 1 {
		return exit.BadInput("type %q is ambiguous: name one of %s", named.Resource, strings.Join(names, ", "))
	}
	return nil
}

// abbreviated returns the resources of all groups with this short name. It returns no resources if the name is the full
// name of a resource, which has precedence. The RESTMapper cannot be used, because it returns only the first resource.
func (n typeNames) abbreviated(short string) ([]string, error) {
	_, lists, err := n.served.ServerGroupsAndResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return nil, err
	}
	var names []string
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, resource := range list.APIResources {
			if resource.Name == short || resource.SingularName == short {
				return nil, nil
			}
			if slices.Contains(resource.ShortNames, short) {
				names = append(names, schema.GroupResource{Group: gv.Group, Resource: resource.Name}.String())
			}
		}
	}
	return names, nil
}
