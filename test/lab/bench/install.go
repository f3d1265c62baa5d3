package main

import (
	"context"
	"fmt"
)

// lifecycle holds the measured installations and deletions of components of one size.
type lifecycle struct {
	installation, removal part
}

// install measures the first apply of ConfigMaps.
func install(ctx context.Context, b *bench, number int, s size) (outcome, error) {
	l, err := b.lifecycleOf(ctx, number, s)
	return outcome{Parts: []part{l.installation}}, err
}

// remove measures the deletion of the components that the scenarios 1 and 3 install.
func remove(ctx context.Context, b *bench, _ int, _ size) (outcome, error) {
	var o outcome
	for _, of := range []struct {
		name   string
		number int
	}{{partOne, 1}, {partMany, 3}} {
		l, err := b.lifecycleOf(ctx, of.number, b.sizeOf(of.number))
		l.removal.Name = of.name
		o.Parts = append(o.Parts, l.removal)
		if err != nil {
			return o, err
		}
	}
	return o, nil
}

// lifecycleOf measures the installation and the deletion of the components of a scenario. Each round measures first the
// floor, which is the time of the same writes by a bare client, and then the operator. If the scenario with this number
// was measured before, lifecycleOf returns the stored result.
func (b *bench) lifecycleOf(ctx context.Context, number int, s size) (lifecycle, error) {
	if known, ok := b.lifecycles[number]; ok {
		return known, nil
	}
	empty := part{Components: s.components, Dependents: s.dependents}
	l := lifecycle{installation: empty, removal: empty}
	stage, err := b.onStage(ctx, fmt.Sprint(number))
	if err != nil {
		return l, err
	}
	for range s.rounds {
		b.awaitTurn()
		if err := l.round(ctx, b, stage, number, s); err != nil {
			return l, err
		}
	}
	b.lifecycles[number] = l
	return l, nil
}

// round measures the floor, which is the time of the writes by a bare client, and then the same writes by the operator.
func (l *lifecycle) round(ctx context.Context, b *bench, stage *stage, number int, s size) error {
	creation, deletion, err := stage.floor(ctx, floorOf(s))
	if err != nil {
		return err
	}
	namespace, err := stage.newNamespace(ctx)
	if err != nil {
		return err
	}
	w := configMapsOf(namespace, s)
	installed, err := stage.measure(
		ctx,
		fmt.Sprintf("%d-install", number),
		func(ctx context.Context) error { return stage.create(ctx, w) },
	)
	if err != nil {
		return err
	}
	b.say("install %s, floor %s", installed, creation)
	l.installation.add(installed.sample, creation)
	removed, err := stage.measure(
		ctx,
		fmt.Sprintf("%d-delete", number),
		func(ctx context.Context) error { return stage.remove(ctx, w) },
	)
	if err != nil {
		return err
	}
	b.say("delete %s, floor %s", removed, deletion)
	l.removal.add(removed.sample, deletion)
	return nil
}

func (p *part) add(s sample, f ...floorTime) {
	p.Rounds = append(p.Rounds, s)
	p.Floor = append(p.Floor, f...)
}

// String returns the main values of a sample in one line.
func (s sample) String() string {
	return fmt.Sprintf("%.3f s (%s)", s.Seconds, s.Requests.byResource())
}

// String returns the speed of the bare writers in one line.
func (f floorTime) String() string {
	text := fmt.Sprintf("%.3f s (%d writers)", f.Seconds, f.Writers)
	if f.Post > 0 {
		text += fmt.Sprintf(", by POST %.3f s", f.Post)
	}
	return text
}
