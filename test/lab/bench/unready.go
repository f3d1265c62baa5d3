package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// stayUnready measures an operator while a component waits for a Deployment that never becomes ready.
func stayUnready(ctx context.Context, b *bench, number int, s size) (outcome, error) {
	stage, err := b.onStage(ctx, fmt.Sprint(number))
	if err != nil {
		return outcome{}, err
	}
	w := workload{templates: ofUnready, components: 1}
	if w.namespace, err = stage.newNamespace(ctx); err != nil {
		return outcome{}, err
	}
	m, err := stage.measure(ctx, "12-wait", func(ctx context.Context) error {
		if err := stage.createOnly(ctx, w); err != nil {
			return err
		}
		return stage.wait(ctx, s.length)
	})
	if err != nil {
		return outcome{}, err
	}
	if found, _ := stage.components.in(w.namespace); countReady(found, 0) > 0 {
		return outcome{}, errors.New("the component became Ready, although no node can run its pod")
	}
	p := part{
		Components: 1,
		Dependents: s.dependents,
		Extra:      map[figure]float64{figStatusWrites: float64(m.Requests.writes("components/status"))},
	}
	p.add(m.sample)
	return outcome{Parts: []part{p}}, nil
}

// wait returns after the given time. It returns an error if the operator ends before.
func (s *stage) wait(ctx context.Context, length time.Duration) error {
	select {
	case <-time.After(length):
		return nil
	case err := <-s.operator.died:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
