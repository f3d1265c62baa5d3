package manifests

// Phase is the part of a component's life in which a dependent is applied.
type Phase string

// The phases.
const (
	// PhaseApply applies the dependent together with the component. It is the default.
	PhaseApply Phase = ""
	// PhasePreDelete applies the dependent when the component is deleted, before any other dependent is deleted.
	PhasePreDelete Phase = "pre-delete"
	// PhasePostDelete applies the dependent when the component is deleted, after all other dependents are deleted.
	PhasePostDelete Phase = "post-delete"
)
