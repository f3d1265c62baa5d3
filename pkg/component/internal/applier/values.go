package applier

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/internal/budget"
	"github.com/fairlead-io/fairlead/internal/validate"
	"github.com/fairlead-io/fairlead/internal/validate/values"
	"github.com/fairlead-io/fairlead/pkg/component/internal/discovery"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

// byKind returns writes in the order of their kinds, so that the schema of each kind is unpacked once.
func byKind(writes []plan.Action) []plan.Action {
	return slices.SortedStableFunc(slices.Values(writes), func(a, b plan.Action) int {
		return cmp.Or(cmp.Compare(a.Key.Group, b.Key.Group), cmp.Compare(a.Key.Kind, b.Key.Kind),
			cmp.Compare(a.Object.Version, b.Object.Version))
	})
}

// kindValues contains the check of the values of one kind, because the checks of all kinds would take much memory. end
// releases the memory.
type kindValues struct {
	gvk    schema.GroupVersionKind
	values *values.Type
	end    func()
}

// of returns the check of the values of a kind, which the set defines if d is set; nil if there is none. The error is
// budget.ErrWait.
func (k *kindValues) of(
	ctx context.Context, gvk schema.GroupVersionKind, served *discovery.Type, d *setDefinition,
) (found *values.Type, err error) {
	if k.end != nil && k.gvk == gvk {
		return k.values, nil
	}
	k.release()
	scoped, end := budget.Scope(ctx)
	if d == nil {
		found, err = served.Values(scoped)
	} else {
		found, err = d.values(scoped, gvk.Version)
	}
	if err != nil {
		end()
		return nil, err
	}
	switch err := budget.Reserve(scoped, found.RulesMemory()); {
	case errors.Is(err, budget.ErrWait):
		end()
		return nil, err
	case err != nil:
		found = found.WithoutRules()
	}
	k.gvk, k.values, k.end = gvk, found, end
	return found, nil
}

// release releases the memory of the check.
func (k *kindValues) release() {
	if k.end != nil {
		k.end()
	}
	*k = kindValues{}
}

// values returns what checks the values of objects, by the schema of a version of the definition. The result is nil, so
// that these values are not checked before the write, if the definition is invalid (which its own write reports), has
// no schema for the version, cannot be unpacked, or needs more memory than the budget can ever give. The only error is
// budget.ErrWait.
func (d *setDefinition) values(ctx context.Context, version string) (*values.Type, error) {
	whole, err := d.object.Whole()
	if err == nil {
		err = budget.Reserve(ctx, definitionCopies*budget.Value(whole.Body.Object))
	}
	if errors.Is(err, budget.ErrWait) {
		return nil, err
	}
	var found *values.Type
	if err == nil {
		found, err = validate.DefinitionValues(whole.Body, version)
	}
	if err != nil {
		return nil, nil
	}
	return found, nil
}
