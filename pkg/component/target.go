package component

// target is where the dependents of a component are, and who writes them there.
type target struct {
	// engine acts on the dependents as the component's identity.
	engine *Engine
	// local acts in the cluster where components live, as the component's identity there.
	local *Engine
}

// target finds the target of a component.
func (r *Reconciler[T]) target(T) (target, error) {
	return target{engine: r.local, local: r.local}, nil
}
