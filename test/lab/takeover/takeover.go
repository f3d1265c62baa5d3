package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/test/program"
)

// settings are the options of the command line.
type settings struct {
	from, to string
	out      io.Writer
}

// takeOver makes a whole run. Its error lists the violations.
func takeOver(ctx context.Context, of settings) error {
	w, err := newWorld(ctx, of)
	if err != nil {
		return err
	}
	err = w.stages(ctx)
	if err != nil && !errors.Is(err, program.ErrInterrupted) {
		err = fmt.Errorf("%w\n(logs: %s)", err, w.cluster.KeepLogs())
	}
	return errors.Join(err, w.end())
}

// stages runs the two operators in turn. Each of them changes components that the other one created, and deletes
// components that the other one changed.
func (w *world) stages(ctx context.Context) error {
	every := w.components
	half := len(every) / 2
	for _, stage := range []struct {
		title, executable string
		// act changes components. It is nil if the operator takes them over as they are, and may write no dependent.
		act func(context.Context) error
	}{
		{"the old operator creates all components", w.from, func(ctx context.Context) error { return w.create(ctx) }},
		{"the new operator takes them over", w.to, nil},
		{"the old operator takes them back, after a downgrade", w.from, nil},
		{"the new operator updates them", w.to, func(ctx context.Context) error { return w.update(ctx, "second") }},
		{"the old operator takes the updated ones back", w.from, nil},
		{"the old operator updates them", w.from, func(ctx context.Context) error { return w.update(ctx, "third") }},
		{"the new operator takes these over", w.to, nil},
		{"the new operator deletes a half", w.to, func(ctx context.Context) error { return w.remove(ctx, every[:half]) }},
		{"the old operator deletes the rest", w.from, func(ctx context.Context) error { return w.remove(ctx, every[half:]) }},
	} {
		if err := w.stage(ctx, stage.title, stage.executable, stage.act); err != nil {
			return fmt.Errorf("%s: %w", stage.title, err)
		}
	}
	return w.leftOver(ctx)
}

// stage runs an operator until it has nothing to do any more.
func (w *world) stage(ctx context.Context, title, executable string, act func(context.Context) error) error {
	if err := w.startOperator(executable); err != nil {
		return err
	}
	if act != nil {
		if err := act(ctx); err != nil {
			return err
		}
	}
	requests, err := w.quiesce(ctx)
	if err != nil {
		return err
	}
	if err := w.stopOperator(); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(w.out, "%s: %d components, %s\n", title, len(w.components), summary(requests))
	if act == nil {
		if written := dependentWrites(requests); len(written) > 0 {
			return program.Violations(written)
		}
	}
	return nil
}

// leftOver returns an error that lists the objects that still belong to a component, and the externals that exist.
func (w *world) leftOver(ctx context.Context) error {
	wrong := w.service.existing()
	for _, list := range dependentLists() {
		if err := w.admin.List(ctx, list, client.HasLabels{ownerLabel}); err != nil {
			return err
		}
		for i := range list.Items {
			o := &list.Items[i]
			wrong = append(wrong, fmt.Sprintf("%s %s/%s still belongs to a component", o.Kind, o.Namespace, o.Name))
		}
	}
	if len(wrong) > 0 {
		return program.Violations(wrong)
	}
	return nil
}
