package reconcile

import (
	"context"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/expression"
	"github.com/fairlead-io/fairlead/pkg/component/internal/inclusion"
	"github.com/fairlead-io/fairlead/pkg/component/internal/input"
	"github.com/fairlead-io/fairlead/pkg/component/internal/lookup"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/rendering"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// conditionParameters are the parameters that an author's function returned for the conditions of objects. The key
// identifies the inputs and the look-ups from which the function computed them.
type conditionParameters struct {
	key        string
	parameters map[string]any
}

// conditions knows what the conditions of objects can use.
type conditions struct {
	author    Author
	component *Component
	target    target.Target
	inputs    input.Inputs
}

// of returns the values that the conditions of the objects in a set can use. They are those of the author's function
// for this, if there is one. Otherwise the values of event sources are the parameter "inputs", unless the component has
// a parameter of this name.
func (c conditions) of(ctx context.Context, set rendering.Set) (inclusion.Inputs, error) {
	in := c.inputs
	decided := inclusion.Inputs{
		Namespace: in.Namespace, Name: in.Name, Parameters: in.Parameters, Served: c.target.Client.Discovery.Serves,
		Hidden: input.IsSecretName,
	}
	if !slices.ContainsFunc(set.Desired(), func(o manifests.Object) bool { return o.Settings.Conditions != nil }) {
		return decided, nil
	}
	own, err := c.ownParameters(ctx, set.Lookups)
	if err != nil {
		return decided, err
	}
	if own != nil {
		// The author's function may read objects, so a value that is no parameter of the component may be secret.
		decided.Parameters = own
		decided.Hidden = func(path string) bool { return !isParameter(in.Parameters, path) || input.IsSecretName(path) }
		return decided, nil
	}
	if _, taken := in.Parameters[parameterInputs]; len(in.EventSources) == 0 || taken {
		return decided, nil
	}
	values, err := in.LoadEventSources(ctx)
	if err != nil {
		return decided, err
	}
	decided.Parameters = maps.Clone(in.Parameters)
	if decided.Parameters == nil {
		decided.Parameters = map[string]any{}
	}
	decided.Parameters[parameterInputs] = values
	// The values of event sources come from other systems, so they may be secret.
	events := expression.VariableParameters + "." + parameterInputs
	decided.Hidden = func(path string) bool {
		return path == events || strings.HasPrefix(path, events+".") || input.IsSecretName(path)
	}
	return decided, nil
}

// parameterInputs is the name of the parameter with the values of event sources, in conditions.
const parameterInputs = "inputs"

// ownParameters returns the parameters of the author's function for conditions, nil if there is none. The function may
// read objects, so it is called only when the inputs have changed, or a looked-up object or its status.
func (c conditions) ownParameters(ctx context.Context, lookups lookup.Lookups) (map[string]any, error) {
	lookups.ReadsStatus = true
	_, digest, err := lookups.Lines()
	if err != nil {
		return nil, err
	}
	in, known := c.inputs, &c.component.State.conditions
	key := in.Digest + " " + digest
	if known.parameters != nil && known.key == key {
		return known.parameters, nil
	}
	var failed error
	parameters, err := c.author.ConditionParameters(ctx, c.component.Object, func() (generator.Request, error) {
		events, err := in.LoadEventSources(ctx)
		failed = err
		return generator.Request{
			Namespace: in.Namespace, Name: in.Name, Parameters: in.Parameters, Component: c.component.Object, Inputs: events,
			Local: lookup.NewAskedObjects(c.target).Lookup(true, false),
		}, err
	})
	if failed != nil {
		return nil, failed
	}
	if err != nil {
		return nil, passerror.FromAuthor(err, metav1alpha1.ReasonGenerateFailed, true)
	}
	*known = conditionParameters{key, parameters}
	return parameters, nil
}

// isParameter reports whether a path of a condition, such as parameters.login, is a parameter that the component
// declares.
func isParameter(parameters map[string]any, path string) bool {
	path, _ = strings.CutPrefix(path, expression.VariableParameters+".")
	_, found, err := unstructured.NestedFieldNoCopy(parameters, strings.Split(path, ".")...)
	return found && err == nil
}
