package component

import (
	"errors"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

// problem is why a pass ended early; it becomes the component's conditions.
type problem struct {
	reason, message string
	// terminal says that it does not go away by itself.
	terminal bool
	// state overrides the state that follows from terminal.
	state metav1alpha1.State
}

func (p *problem) Error() string { return p.reason + ": " + p.message }

// problemOf returns the problem that an error is, nil for nil. What is not known to be a problem goes away by itself.
func problemOf(err error) *problem {
	var p *problem
	switch {
	case err == nil:
		return nil
	case errors.As(err, &p):
		return p
	}
	return &problem{reason: metav1alpha1.ReasonRetrying, message: err.Error()}
}

func invalidSpec(err error) error {
	return &problem{reason: metav1alpha1.ReasonInvalidSpec, message: err.Error(), terminal: true}
}
