package manifests

import (
	"reflect"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

// RareSettings are the settings that few manifests have. They are apart from Settings, because the settings of each
// object stay in memory as long as its component exists.
type RareSettings struct {
	PrunePolicy metav1alpha1.PrunePolicy
	// Ignore are the fields that are left to others.
	Ignore []Ignored
	// Hints describe how readiness is read from the status.
	Hints StatusHints
	// ReadyWhen is the condition that must hold for the dependent to be ready.
	ReadyWhen ReadyWhen
	// Exports are the values of the live object that other objects use.
	Exports []Export
	// Bind is set if the manifest has holes for exported values.
	Bind bool
	// ExternalID is the id of an existing external that is adopted or observed; empty for all other objects.
	ExternalID string
}

// EffectiveDeleteOrder returns the deletion wave of the object: DeleteOrder, or the negative Order. Deletion waves run
// in ascending order.
func (s Settings) EffectiveDeleteOrder() int {
	if s.DeleteOrder != nil {
		return *s.DeleteOrder
	}
	return -s.Order
}

// IsObserved reports whether the object is only read: it is never written, recorded as a dependent, or deleted.
func (s Settings) IsObserved() bool { return s.ReconcilePolicy == metav1alpha1.ReconcileObserve }

// PrunePolicy returns the prune policy; empty selects the default.
func (s Settings) PrunePolicy() metav1alpha1.PrunePolicy { return s.rare().PrunePolicy }

// Ignored returns the fields that are left to others.
func (s Settings) Ignored() []Ignored { return s.rare().Ignore }

// Exports returns the values of the live object that other objects use.
func (s Settings) Exports() []Export { return s.rare().Exports }

// Binds reports whether the manifest has holes for exported values.
func (s Settings) Binds() bool { return s.rare().Bind }

// ExternalID returns the id of an existing external that is adopted or observed, and an empty text for all other
// objects.
func (s Settings) ExternalID() string { return s.rare().ExternalID }

// StatusHints returns how readiness is read from the status.
func (s Settings) StatusHints() StatusHints { return s.rare().Hints }

// ReadyWhen returns the condition that must hold for the dependent to be ready.
func (s Settings) ReadyWhen() ReadyWhen { return s.rare().ReadyWhen }

// WithIgnored returns the settings with other ignored fields.
func (s Settings) WithIgnored(ignored []Ignored) Settings {
	rare := *s.rare()
	rare.Ignore = ignored
	return s.WithRare(rare)
}

// rare returns the rare settings; they are read-only.
func (s Settings) rare() *RareSettings {
	if s.Rare == nil {
		return &RareSettings{}
	}
	return s.Rare
}

// WithRare returns the settings with other rare settings, which are nil if none is set.
func (s Settings) WithRare(rare RareSettings) Settings {
	s.Rare = &rare
	if reflect.ValueOf(rare).IsZero() {
		s.Rare = nil
	}
	return s
}

// Export is a value of a live object that other objects of the set use.
type Export struct {
	Name string
	// Expression is a CEL expression over the live object, self.
	Expression string
}
