package dependencies

// Cause is the reason why a dependency does not permit that new inputs are applied.
type Cause string

const (
	// Ready means that the dependency permits that new inputs are applied.
	Ready Cause = "Ready"
	// NotAllowed means that the other component is in another namespace, and does not exist or does not allow the
	// dependency.
	NotAllowed Cause = "NotAllowed"
	// InCycle means that the other component waits, directly or through others, for the component itself. Graph.Cycle
	// returns the cycle.
	InCycle Cause = "InCycle"
	// Absent means that the other component does not exist, or that the cache of the reconciler does not contain it.
	Absent Cause = "Absent"
	// BeingDeleted means that the other component is being deleted.
	BeingDeleted Cause = "BeingDeleted"
	// NotReady means that the other component is not Ready at its generation, or that its status must not be believed.
	NotReady Cause = "NotReady"
)

// State is the state of a dependency of a component. If the other component has not allowed the dependency, a State
// tells nothing about it.
type State struct {
	Edge  Edge
	Cause Cause
	// Suspended is set if the other component is suspended. It then counts with what it has applied.
	Suspended bool
	// Applied is Health.Applied of the other component.
	Applied string
}

// Permits reports whether new inputs may be applied.
func (s State) Permits() bool { return s.Cause == Ready }

// Health says whether a component counts as ready.
type Health struct {
	// Generation is the generation of the component, and ObservedGeneration the one that its status is about.
	Generation, ObservedGeneration int64
	// IsReady is set if the condition Ready is True.
	IsReady bool
	// Doubted is set if the status must not be believed, or was written for another component of the same name.
	Doubted bool
	// Suspended is set if the component is suspended. Its condition Ready is then Unknown.
	Suspended bool
	// RevisionReady is set if the last revision was ready once. InputsApplied is set if its inputs are all applied.
	RevisionReady, InputsApplied bool
	// Applied identifies the content of the source that is applied.
	Applied string
}

// ready reports whether a component is ready for those who depend on it.
func (h Health) ready() bool {
	switch {
	case h.Doubted:
		return false
	case h.Suspended:
		return h.RevisionReady && h.InputsApplied
	}
	return h.IsReady && h.ObservedGeneration == h.Generation
}

// situation is what the state of a dependency depends on.
type situation struct {
	edge                        Edge
	consents, isInCycle, exists bool
	isDeleting                  bool
	health                      Health
}

// state returns the state of a dependency. The first rule that matches decides.
func (s situation) state() State {
	result := State{Edge: s.edge, Cause: Ready}
	waitsForReady := s.edge.Kind == DependsOn
	switch {
	case !s.consents:
		result.Cause = NotAllowed
		return result
	case s.isInCycle:
		result.Cause = InCycle
	case !s.exists && waitsForReady:
		result.Cause = Absent
	case s.isDeleting && (waitsForReady || s.edge.Blocks):
		result.Cause = BeingDeleted
	case !s.health.ready() && waitsForReady:
		result.Cause = NotReady
	}
	if waitsForReady {
		result.Suspended, result.Applied = s.health.Suspended, s.health.Applied
	}
	return result
}
