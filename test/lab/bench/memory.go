package main

import (
	"context"
	"fmt"
)

// ballastPieces is the number of pieces of 64 bytes in an object. With its other fields, an object has about 2 KiB as
// JSON.
const ballastPieces = 28

// remember measures the operator's memory with many objects, including all other memory that it needs.
func remember(ctx context.Context, b *bench, number int, s size) (outcome, error) {
	p := part{Components: s.components, Dependents: s.dependents}
	stage, err := b.onStage(ctx, fmt.Sprint(number))
	if err != nil {
		return outcome{}, err
	}
	empty, err := stage.operator.liveHeap(ctx)
	if err != nil {
		return outcome{}, err
	}
	w := workload{
		templates: ofTenKinds, components: s.components,
		values: values{Count: s.dependents, Ballast: ballastPieces},
	}
	if w.namespace, err = stage.newNamespace(ctx); err != nil {
		return outcome{}, err
	}
	m, err := stage.measure(ctx, "11-install", func(ctx context.Context) error { return stage.create(ctx, w) })
	if err != nil {
		return outcome{Parts: []part{p}}, err
	}
	full, err := stage.operator.liveHeap(ctx)
	if err != nil {
		return outcome{}, err
	}
	p.add(m.sample)
	p.Extra = map[figure]float64{figHeapPerObject: full / 1024 / float64(s.objects())}
	return outcome{Parts: []part{p}, Notes: []string{fmt.Sprintf(
		"live heap: %.1f MiB without a component, %.1f MiB with %d objects: %.2f KiB more for each",
		empty/mebibyte, full/mebibyte, s.objects(), (full-empty)/1024/float64(s.objects()))}}, nil
}
