package component

import (
	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
)

// RecordDoubt returns why the record of the dependents in a status must not be believed: another client wrote it, for
// example an older copy. It returns an empty text if the record is believed. The hook PostRead may get such a status;
// after that the dependents are searched, and the record is written again. For a status that was not loaded by a
// reconciler the result is always empty.
func RecordDoubt(status *metav1alpha1.Status) string { return components.Doubt(status) }
