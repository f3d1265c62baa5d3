package eventsources

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Fixed are given inputs by name, for a rendering without event sources.
type Fixed map[string]any

// Begin does nothing, because the values are known.
func (f Fixed) Begin(context.Context, client.Object, Clusters) (waits bool) { return false }

// Inputs returns the values as inputs.
func (f Fixed) Inputs(context.Context, types.NamespacedName) ([]NamedInput, error) {
	var inputs []NamedInput
	for _, name := range slices.Sorted(maps.Keys(f)) {
		digest, _, err := Digest(f[name])
		if err != nil {
			return nil, fmt.Errorf("input %s: %w", name, err)
		}
		load := func(context.Context) (any, error) { return Plain(f[name]) }
		inputs = append(inputs, NamedInput{name, Input{Digest: digest, Load: load}})
	}
	return inputs, nil
}

// Failures returns nothing, because the values are current.
func (f Fixed) Failures(types.NamespacedName) []Failure { return nil }

// Forget does nothing.
func (f Fixed) Forget(types.NamespacedName) {}
