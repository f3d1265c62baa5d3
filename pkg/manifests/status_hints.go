package manifests

// StatusHints describe how to read readiness from the status of a type that does not follow the API conventions.
type StatusHints struct {
	// HasObservedGeneration means that the type sets status.observedGeneration. The object is not ready without it.
	HasObservedGeneration bool
	// HasReadyCondition means that the type sets a condition Ready. The object is not ready without it.
	HasReadyCondition bool
	// Conditions are additional conditions that must be True.
	Conditions []string
}

// None reports whether there are no hints.
func (h StatusHints) None() bool {
	return !h.HasObservedGeneration && !h.HasReadyCondition && len(h.Conditions) == 0
}
