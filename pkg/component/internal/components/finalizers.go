package components

import (
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Finalizers are the finalizers of a reconciler on its components.
type Finalizers struct {
	// Own is the finalizer that the reconciler adds.
	Own string
	// Previous are finalizers that the reconciler added before. A component with a previous finalizer is held, too. The
	// write that adds Own removes them. A component that is being deleted keeps them until the end, because an API
	// server accepts no new finalizer then.
	Previous []string
}

// Finalizer returns the finalizer that the reconciler with the given name adds to its components by default.
func Finalizer(reconciler string) string { return reconciler + "/finalizer" }

// FinalizersOf returns the finalizers of the reconciler with the given name that has no others.
func FinalizersOf(reconciler string) Finalizers { return Finalizers{Own: Finalizer(reconciler)} }

// Named returns the finalizers whose names cannot be derived from the name of the reconciler, sorted, or nil.
func (f Finalizers) Named(reconciler string) []string {
	all := append(slices.Clone(f.Previous), f.Own)
	slices.Sort(all)
	named := slices.DeleteFunc(slices.Compact(all), func(name string) bool { return name == Finalizer(reconciler) })
	if len(named) == 0 {
		return nil
	}
	return named
}

// Holds reports whether an object has a finalizer of the reconciler.
func (f Finalizers) Holds(obj client.Object) bool {
	return slices.ContainsFunc(obj.GetFinalizers(), f.isOurs)
}

// Others returns the finalizers of an object except those of the reconciler.
func (f Finalizers) Others(obj client.Object) []string {
	return slices.DeleteFunc(slices.Clone(obj.GetFinalizers()), f.isOurs)
}

// IsCurrent reports whether an object has the finalizer Own, and no previous finalizer.
func (f Finalizers) IsCurrent(obj client.Object) bool {
	return slices.Contains(obj.GetFinalizers(), f.Own) && !slices.ContainsFunc(obj.GetFinalizers(), f.isPrevious)
}

func (f Finalizers) isOurs(finalizer string) bool {
	return finalizer == f.Own || f.isPrevious(finalizer)
}

func (f Finalizers) isPrevious(finalizer string) bool {
	return finalizer != f.Own && slices.Contains(f.Previous, finalizer)
}

// keep returns changed finalizers with exactly those finalizers of the reconciler that were there before.
func (f Finalizers) keep(changed, before []string) []string {
	kept := slices.DeleteFunc(slices.Clone(changed), func(name string) bool {
		return f.isOurs(name) && !slices.Contains(before, name)
	})
	for _, name := range before {
		if f.isOurs(name) && !slices.Contains(kept, name) {
			kept = append(kept, name)
		}
	}
	return kept
}
