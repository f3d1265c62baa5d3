package rendering

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/internal/determinism"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// ownValues returns the fields of a later rendering that keep the pinned values although their new values do not differ
// in each rendering. The values were generated while the component had no dependents. Since then they come from the
// dependents, for example from a Secret that the chart looks up and generates only if it does not exist. A checksum of a
// generated Secret is another one then, and the pods would restart. differing are the fields that differ in each
// rendering.
//
// The fields are kept only if the objects of both renderings differ in nothing else. Otherwise a checksum may have to
// follow the object that it was computed from.
func (j job) ownValues(
	ctx context.Context, pinned Rendered, plain []*unstructured.Unstructured, differing []determinism.Field,
) ([]determinism.Field, error) {
	if pinned.ID == "" || !j.recorder.FoundOwn(j.looker) {
		return nil, nil
	}
	before, err := pinned.Manifests.All()
	if err != nil {
		return nil, err
	}
	before, after := inBoth(before, plain)
	after, _ = determinism.Fill(before, after, differing)
	changed := determinism.Compare(before, after)
	if len(changed.Shape) > 0 || len(changed.Values) == 0 {
		return nil, nil
	}
	generated, err := j.generatedAtFirst(ctx)
	if err != nil {
		return nil, err
	}
	if !changed.Within(determinism.Difference{Values: generated}) {
		return nil, nil
	}
	return changed.Values, nil
}

// generatedAtFirst returns the fields that differ in each rendering that finds no dependent of the component. It returns
// none if the inputs cannot be rendered like this.
func (j job) generatedAtFirst(ctx context.Context) ([]determinism.Field, error) {
	first, _, err := j.render(ctx, options{withoutOwn: true})
	if waits(err) {
		return nil, err
	}
	if err != nil {
		return nil, nil
	}
	plain, err := determinism.Plain(first)
	if err != nil {
		return nil, nil
	}
	d, err := j.differenceOnce(ctx, plain, options{later: true, withoutOwn: true})
	if waits(err) {
		return nil, err
	}
	return d.Values, nil
}

// inBoth returns the objects of two renderings that both have, each in its order.
func inBoth(a, b []*unstructured.Unstructured) (inA, inB []*unstructured.Unstructured) {
	return withKeysOf(a, b), withKeysOf(b, a)
}

func withKeysOf(set, other []*unstructured.Unstructured) []*unstructured.Unstructured {
	keys := map[manifests.Key]bool{}
	for _, o := range other {
		keys[determinism.KeyOf(o)] = true
	}
	return slices.DeleteFunc(slices.Clone(set), func(o *unstructured.Unstructured) bool {
		return !keys[determinism.KeyOf(o)]
	})
}
