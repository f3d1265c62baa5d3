package main

import (
	"context"
	"fmt"
	"strings"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

// change measures the cost of changing one of many manifests, under each update policy that has a budget.
func change(ctx context.Context, b *bench, number int, s size) (outcome, error) {
	stage, err := b.onStage(ctx, fmt.Sprint(number))
	if err != nil {
		return outcome{}, err
	}
	var o outcome
	for _, policy := range []struct {
		name   string
		update metav1alpha1.UpdatePolicy
	}{{partSSA, metav1alpha1.UpdateSSAOverride}, {partReplace, metav1alpha1.UpdateReplace}} {
		namespace, err := stage.newNamespace(ctx)
		if err != nil {
			return o, err
		}
		w := configMapsOf(namespace, s)
		w.update = policy.update
		p, err := stage.changeOne(ctx, b, w, s, policy.name)
		o.Parts = append(o.Parts, p)
		if err != nil {
			return o, err
		}
	}
	return o, nil
}

// changeOne installs a component, and changes the same manifest in each round.
func (s *stage) changeOne(ctx context.Context, b *bench, w workload, of size, name string) (part, error) {
	p := part{Name: name, Components: 1, Dependents: of.dependents}
	if err := s.create(ctx, w); err != nil {
		return p, err
	}
	writes := 0
	for round := range of.rounds {
		floor, _, err := s.floor(ctx, floorOf(size{components: 1, dependents: 1}))
		if err != nil {
			return p, err
		}
		// Each round writes a new text into the same manifest. If the round changed another manifest, the manifest of
		// the previous round would also change, back to its first text.
		w.values.Changed, w.values.Text = 0, fmt.Sprintf("change %d", round)
		m, err := s.measure(ctx, "7-"+name, func(ctx context.Context) error { return s.change(ctx, w) })
		if err != nil {
			return p, err
		}
		b.say("%s %s, floor %s", name, m, floor)
		p.add(m.sample, floor)
		writes = max(writes, m.Requests.writes("configmaps"))
	}
	p.Extra = map[figure]float64{figDependentWrites: float64(writes)}
	return p, nil
}

// writes counts the requests that change objects of a resource.
func (t tally) writes(resource string) int {
	n := 0
	for request, times := range t[classCounted] {
		verb, what, _ := strings.Cut(request, " ")
		if what == resource && isWrite(verb) {
			n += times
		}
	}
	return n
}

func isWrite(verb string) bool {
	switch verb {
	case "create", "update", "patch", "delete", "deletecollection":
		return true
	}
	return false
}
