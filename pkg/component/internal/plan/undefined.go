package plan

import (
	"fmt"
	"slices"

	"github.com/fairlead-io/fairlead/internal/builtintypes"
	"github.com/fairlead-io/fairlead/internal/typeset"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Undefined returns the waits for the objects of an apply set whose types the API server does not serve, and neither an
// object of the set nor the component defines. managed are the additional managed types of the component.
func Undefined(desired []manifests.Object, managed []manifests.ManagedType) []Waiting {
	defined := definedTypes(desired, managed)
	var waiting []Waiting
	for i := range desired {
		o := &desired[i]
		if o.Occurrence > 0 || o.Scope != manifests.ScopeUnknown || defined.Has(o.Key.GroupKind()) {
			continue
		}
		w := Waiting{Key: o.Key, Wave: o.Settings.Order, Reason: WaitNotServed}
		w.setUndefined(o)
		waiting = append(waiting, w)
	}
	return waiting
}

// definedTypes returns the types that the objects of an apply set define, and the additional managed types: those that
// dependents define at run time.
func definedTypes(desired []manifests.Object, managed []manifests.ManagedType) typeset.Set {
	types := slices.Clone(managed)
	for i := range desired {
		types = append(types, desired[i].Types...)
	}
	return typeset.New(types)
}

// setUndefined marks the wait for an object as a wait for a type that nothing here defines. Nobody can install the
// types of Kubernetes: a newer Kubernetes serves another version of them.
func (w *Waiting) setUndefined(o *manifests.Object) {
	w.Undefined = true
	if builtintypes.IsBuiltIn(o.Key.Group) {
		w.Message = fmt.Sprintf("%s is not served in version %s; write an apiVersion and a kind that this Kubernetes serves",
			o.Key.GroupKind(), o.Version)
		return
	}
	w.Message = fmt.Sprintf("%s is not served, and nothing here defines it; install what defines version %s",
		o.Key.GroupKind(), o.Version)
}

// markUndefined marks the waits for types that nothing here defines.
func (p *Plan) markUndefined(f Facts) {
	notServed := map[manifests.Key]*Waiting{}
	for i := range p.Waiting {
		if w := &p.Waiting[i]; w.Reason == WaitNotServed && w.Failure == nil {
			notServed[w.Key] = w
		}
	}
	if len(notServed) == 0 {
		return
	}
	defined := definedTypes(f.Desired, f.Managed)
	for i := range f.Desired {
		o := &f.Desired[i]
		if w := notServed[o.Key]; w != nil && !defined.Has(o.Key.GroupKind()) {
			w.setUndefined(o)
		}
	}
}
