package discovery

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/util/managedfields"

	"github.com/fairlead-io/fairlead/internal/budget"
	"github.com/fairlead-io/fairlead/internal/validate/values"
)

// Type is the schema of a kind. It converts objects as a server-side apply does.
type Type struct {
	managedfields.TypeConverter
	// builtIn checks the values of a kind of Kubernetes, and custom has the schema of another kind. Such a schema is
	// seldom used and needs much memory, so it is compressed meanwhile.
	builtIn *values.Type
	custom  *values.Packed
	// writes are the verbs with which clients write objects of the kind. listed is set if the document lists the verbs.
	writes []string
	listed bool
}

// Values returns the check of the values of the kind; nil if there is none. Its memory is reserved for the work of the
// context. The error is budget.ErrWait.
func (t *Type) Values(ctx context.Context) (*values.Type, error) {
	if t == nil || t.custom == nil {
		return t.builtInValues(), nil
	}
	switch err := budget.Reserve(ctx, t.custom.Memory()); {
	case errors.Is(err, budget.ErrWait):
		return nil, err
	case err != nil:
		return nil, nil
	}
	unpacked, err := t.custom.Unpack()
	if err != nil {
		// A schema that cannot be used says nothing about an object.
		return nil, nil
	}
	return unpacked, nil
}

func (t *Type) builtInValues() *values.Type {
	if t == nil {
		return nil
	}
	return t.builtIn
}
