package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/internal/depgraph"
	"github.com/fairlead-io/fairlead/internal/typeset"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Finding is a probable mistake in a manifest.
type Finding struct {
	Object manifests.Key
	// Field is the path of the field in the manifest.
	Field   string
	Message string
}

// String returns the finding as a line.
func (f Finding) String() string { return fmt.Sprintf("%s: %s: %s", f.Object, f.Field, f.Message) }

// Set returns the findings about the dependents of a component in the given namespace: references of pods, of the
// built-in types in referrers, and of externals, to objects that are applied later, and to objects that are not in the
// set; objects of types that are neither built in nor defined in the set.
func Set(namespace string, objects []manifests.Object) ([]Finding, error) {
	s := newSet(objects)
	var found []Finding
	for i := range objects {
		o := &objects[i]
		if o.Occurrence > 0 {
			continue
		}
		whole, err := o.Whole()
		if err != nil {
			return nil, err
		}
		for _, r := range referencesOf(namespace, o.Key, whole.Body) {
			if message := s.problemOf(o, r); message != "" {
				found = append(found, Finding{Object: o.Key, Field: r.field, Message: message})
			}
		}
		if o.Scope == manifests.ScopeUnknown && !s.defined.Has(o.Key.GroupKind()) {
			found = append(
				found,
				Finding{Object: o.Key, Field: "kind", Message: "no object of the set defines this type, so it " +
					"must be defined in the cluster before"},
			)
		}
	}
	slices.SortStableFunc(found, func(a, b Finding) int {
		return cmp.Or(a.Object.Compare(b.Object), cmp.Compare(a.Field, b.Field))
	})
	return found, nil
}

// set indexes the objects that are applied with the component.
type set struct {
	objects map[manifests.Key]*manifests.Object
	defined typeset.Set
	// values are the objects whose exported values each object uses, and so waits for.
	values map[manifests.Key][]manifests.Key
	// before caches the objects and waves that come before an object.
	before map[manifests.Key]*before
}

// before contains what is applied before an object is applied, because the object depends on it or uses its values.
type before struct {
	objects map[manifests.Key]bool
	// wave is the highest wave of these objects; all waves before it are ready. reached is false if there is none.
	wave    int
	reached bool
}

func newSet(objects []manifests.Object) *set {
	s := &set{
		objects: map[manifests.Key]*manifests.Object{}, values: depgraph.ValueEdges(objects),
		before: map[manifests.Key]*before{},
	}
	var types []manifests.ManagedType
	for i := range objects {
		o := &objects[i]
		types = append(types, o.Types...)
		if s.objects[o.Key] == nil || s.objects[o.Key].Settings.Phase != manifests.PhaseApply {
			s.objects[o.Key] = o
		}
	}
	s.defined = typeset.New(types)
	return s
}

// problemOf returns a message about a reference, and an empty text if there is nothing to say.
func (s *set) problemOf(o *manifests.Object, r reference) string {
	to := s.objects[r.key]
	switch {
	case r.optional || r.provided(to != nil):
		return ""
	case to == nil:
		return fmt.Sprintf("%s is not in the set, so it must exist in the cluster before", r.key)
	case r.anyOrder || o.Settings.Phase != manifests.PhaseApply || to.Settings.Phase != manifests.PhaseApply:
		return ""
	case s.beforeOf(to).objects[o.Key]:
		return fmt.Sprintf("%s waits for this object, which refers to it; remove the dependency or the reference", r.key)
	case (o.InGraph() || to.InGraph()) && s.waitsFor(o, to):
		return ""
	case o.InGraph():
		return fmt.Sprintf("%s may be applied later; add it to depends-on", r.key)
	case to.InGraph():
		return fmt.Sprintf("%s depends on other objects, and no wave waits for it; let this object depend on it", r.key)
	case to.Settings.Order > o.Settings.Order:
		return fmt.Sprintf("%s is in wave %d, and this object in the earlier wave %d; give it order %d or an earlier one",
			r.key, to.Settings.Order, o.Settings.Order, o.Settings.Order)
	}
	return ""
}

// waitsFor reports whether the dependencies of an object, or the values that it uses, delay it until another object is
// applied.
func (s *set) waitsFor(o, to *manifests.Object) bool {
	b := s.beforeOf(o)
	return b.objects[to.Key] || !to.InGraph() && b.reached && to.Settings.Order < b.wave
}

// beforeOf returns what comes before an object, apart from the waves before its own. A set contains no cycles.
func (s *set) beforeOf(o *manifests.Object) *before {
	if known := s.before[o.Key]; known != nil {
		return known
	}
	b := &before{objects: map[manifests.Key]bool{}}
	open := slices.Concat(o.Edges(), s.values[o.Key])
	for len(open) > 0 {
		key := open[len(open)-1]
		open = open[:len(open)-1]
		on := s.objects[key]
		if on == nil || b.objects[key] {
			continue
		}
		b.objects[key] = true
		open = append(open, s.values[key]...)
		if on.InGraph() {
			open = append(open, on.Edges()...)
		} else if !b.reached || on.Settings.Order > b.wave {
			b.wave, b.reached = on.Settings.Order, true
		}
	}
	s.before[o.Key] = b
	return b
}

// reference is the name of another object in a field of a manifest.
type reference struct {
	key      manifests.Key
	field    string
	optional bool
	// anyOrder is set if the object of the reference may be applied later.
	anyOrder bool
	// class is set if the object is a class of the cluster, which administrators usually provide.
	class bool
}

// provided reports whether Kubernetes provides the object of the reference in each namespace or cluster, or whether
// administrators do, because it is a class that is not in the set.
func (r reference) provided(inSet bool) bool {
	if r.class {
		return !inSet
	}
	switch r.key.Kind {
	case "ServiceAccount":
		return r.key.Name == "default"
	case "ConfigMap":
		return r.key.Name == "kube-root-ca.crt"
	case "ClusterRole":
		return slices.Contains([]string{"cluster-admin", "admin", "edit", "view"}, r.key.Name) ||
			strings.HasPrefix(r.key.Name, "system:")
	}
	return false
}

// referencesOf returns the references in a manifest of a built-in type, or of an external. The references of an
// external are in the namespace of the component.
func referencesOf(namespace string, of manifests.Key, body *unstructured.Unstructured) []reference {
	f := finder{namespace: body.GetNamespace()}
	whole := node{value: body.Object}
	gk := body.GroupVersionKind().GroupKind().String()
	if of.IsExternal() {
		f.namespace = namespace
		f.external(whole)
		return f.found
	}
	if path, found := podPaths[gk]; found {
		f.pod(at(whole, path...))
	}
	if refer := referrers[gk]; refer != nil {
		refer(&f, whole)
	}
	return f.found
}
