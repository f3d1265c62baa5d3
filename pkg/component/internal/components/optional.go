package components

// Implementation returns the implementation of an optional interface I of a component: the component itself, or else
// its spec, if the component has a method GetSpec. found is false if neither of them implements I. obj may have any
// type.
func Implementation[I any](obj any) (implementation I, found bool) {
	if implementation, found = obj.(I); found {
		return implementation, true
	}
	if holder, ok := obj.(interface{ GetSpec() any }); ok {
		implementation, found = holder.GetSpec().(I)
	}
	return implementation, found
}
