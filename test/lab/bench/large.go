package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// large measures the whole life of one component, first with a tenth of the dependents, and then with all of them.
func large(ctx context.Context, b *bench, number int, s size) (outcome, error) {
	stage, err := b.onStage(ctx, fmt.Sprint(number))
	if err != nil {
		return outcome{}, err
	}
	tenth := s
	tenth.dependents /= 10
	small, err := stage.life(ctx, b, tenth)
	if err != nil {
		return outcome{}, fmt.Errorf("with %d dependents: %w", tenth.dependents, err)
	}
	whole, err := stage.life(ctx, b, s)
	for i := range whole {
		times := whole[i].Rounds[0].Seconds / small[i].Rounds[0].Seconds
		whole[i].Extra = map[figure]float64{figTimesSmall: times}
	}
	for i := range small {
		small[i].Name += fmt.Sprintf(", %d", tenth.dependents)
	}
	return outcome{Parts: append(small, whole...)}, err
}

// life measures the steps of a component's life until one fails.
func (s *stage) life(ctx context.Context, b *bench, of size) ([]part, error) {
	namespace, err := s.newNamespace(ctx)
	if err != nil {
		return nil, err
	}
	w := configMapsOf(namespace, of)
	changed := w
	changed.values.Changed, changed.values.Text = of.dependents/2, "changed"
	var parts []part
	for _, step := range []struct {
		name string
		do   func(context.Context) (part, error)
	}{
		{partInstall, s.step(partInstall, func(ctx context.Context) error { return s.create(ctx, w) })},
		{partChange, s.step(partChange, func(ctx context.Context) error { return s.change(ctx, changed) })},
		{partRestart, func(ctx context.Context) (part, error) { return s.restart(ctx, "10-restart", 1) }},
		{partDelete, s.step(partDelete, func(ctx context.Context) error { return s.remove(ctx, w) })},
	} {
		p, err := step.do(ctx)
		if err != nil {
			return parts, fmt.Errorf("%s: %w", step.name, err)
		}
		p.Name, p.Components, p.Dependents = step.name, 1, of.dependents
		b.say("%d dependents: %s %s", of.dependents, step.name, p.Rounds[0])
		parts = append(parts, p)
	}
	return parts, nil
}

// step returns a function that measures work once.
func (s *stage) step(name string, work func(context.Context) error) func(context.Context) (part, error) {
	return func(ctx context.Context) (part, error) {
		m, err := s.measure(ctx, "10-"+name, work)
		return part{Rounds: []sample{m.sample}}, err
	}
}

// besideDependents is the size of the small component that is created while a large component is installed.
const besideDependents = 20

// beside measures the time that a small component takes alone, and while a large component is installed.
func beside(ctx context.Context, b *bench, number int, s size) (outcome, error) {
	stage, err := b.onStage(ctx, fmt.Sprint(number))
	if err != nil {
		return outcome{}, err
	}
	var alone, crowded []float64
	for range s.rounds {
		seconds, err := stage.timeSmall(ctx)
		if err != nil {
			return outcome{}, err
		}
		alone = append(alone, seconds)
	}
	namespace, err := stage.newNamespace(ctx)
	if err != nil {
		return outcome{}, err
	}
	w := configMapsOf(namespace, s)
	m, err := stage.measure(ctx, "13-install", func(ctx context.Context) error {
		crowded, err = stage.timeSmallDuring(ctx, w)
		return err
	})
	if err != nil {
		return outcome{}, err
	}
	p := part{
		Components: 1,
		Dependents: s.dependents,
		Extra:      map[figure]float64{figTimesAlone: median(crowded) / median(alone)},
	}
	p.add(m.sample)
	note := fmt.Sprintf("a component of %d: %.3f s alone (median of %d), %.3f s beside (median of %d, largest %.3f s)",
		besideDependents, median(alone), len(alone), median(crowded), len(crowded), largest(crowded))
	return outcome{Parts: []part{p}, Notes: []string{note}}, nil
}

// timeSmallDuring installs a large component, and repeatedly a small component until the large component is installed.
func (s *stage) timeSmallDuring(ctx context.Context, w workload) ([]float64, error) {
	if err := s.createOnly(ctx, w); err != nil {
		return nil, err
	}
	// The first status of the large component is written right before its first dependent.
	err := s.await(
		ctx,
		w.namespace,
		func(found map[string]standing) bool { return found[componentName(0)].message != "" },
	)
	if err != nil {
		return nil, err
	}
	var times []float64
	for found, _ := s.components.in(w.namespace); countReady(found, 1) == 0; found, _ = s.components.in(w.namespace) {
		seconds, err := s.timeSmall(ctx)
		if err != nil {
			return nil, err
		}
		times = append(times, seconds)
	}
	if len(times) == 0 {
		return nil, errors.New("the large component was Ready before a small one was created")
	}
	return times, nil
}

// timeSmall installs a small component in a new namespace, and returns the duration in seconds.
func (s *stage) timeSmall(ctx context.Context) (float64, error) {
	namespace, err := s.newNamespace(ctx)
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	err = s.create(ctx, configMapsOf(namespace, size{components: 1, dependents: besideDependents}))
	return time.Since(begin).Seconds(), err
}
