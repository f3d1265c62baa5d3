package input

import (
	"context"
	"fmt"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/budget"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// EventSource is the value of an event source that is an input.
type EventSource struct {
	// Name is the name of the event source, and Digest identifies the value.
	Name, Digest string
	// Load returns the value as plain data.
	Load func(context.Context) (any, error)
	// Secret is set if the value must not be shown.
	Secret bool
	// Objects are the objects in the cluster of the component that the value comes from.
	Objects []manifests.Key

	value  any
	loaded bool
}

// LoadEventSources returns the values of event sources by their names, nil if there are none. Each value is loaded
// once.
func (in Inputs) LoadEventSources(ctx context.Context) (map[string]any, error) {
	if len(in.EventSources) == 0 {
		return nil, nil
	}
	values := make(map[string]any, len(in.EventSources))
	for i := range in.EventSources {
		e := &in.EventSources[i]
		if err := e.load(ctx); err != nil {
			return nil, err
		}
		values[e.Name] = e.value
	}
	return values, nil
}

func (e *EventSource) load(ctx context.Context) error {
	if e.loaded {
		return nil
	}
	value, err := e.Load(ctx)
	if err != nil {
		return &passerror.Error{
			Reason: metav1alpha1.ReasonRetrying, Message: fmt.Sprintf("input %s: %v", e.Name, err),
		}
	}
	if err := budget.Reserve(ctx, budget.Value(value)); err != nil {
		return err
	}
	e.value, e.loaded = value, true
	return nil
}

// eventSourceValues returns the single values of event sources. The second result is false if there are too many
// values.
func (in Inputs) eventSourceValues() ([]value, bool) {
	var all []value
	for _, e := range in.EventSources {
		if !e.loaded {
			all = append(all, value{path: "input " + e.Name, hash: hashOf(e.Digest)})
			continue
		}
		found, complete := valuesIn(e.value, "", !e.Secret && !IsSecretName(e.Name))
		if !complete {
			return nil, false
		}
		for _, v := range found {
			if v.path == "" {
				v.path = "input " + e.Name
			} else {
				v.path = "input " + e.Name + ": " + v.path
			}
			all = append(all, v)
		}
	}
	return all, true
}
