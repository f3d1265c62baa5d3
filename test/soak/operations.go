package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
)

const (
	// maxGuests bounds how many components there are besides the residents.
	maxGuests = 30
	// retryInterval is how long components wait after what does not go away by itself: there is a lot of that here.
	retryInterval = 5 * time.Second
	// maxMeanwhile bounds the operations while no operator runs.
	maxMeanwhile = 12
)

// operation is something that is done to the world.
type operation struct {
	name string
	// weight is how often it is chosen, compared with others.
	weight int
	do     func(*world, context.Context) error
	// kills says that it ends the operator, and process that it is done to a process rather than to objects.
	kills, process bool
}

// operations returns all there are.
func operations() []operation {
	return []operation{
		{name: "create a component", weight: 12, do: (*world).createGuest},
		{name: "change a component", weight: 16, do: (*world).changeAny},
		{name: "delete a component", weight: 9, do: (*world).removeGuest},
		{name: "empty a status", weight: 1, do: (*world).emptyStatus},
		{name: "change what is read", weight: 2, do: (*world).changeSettings},
		{name: "edit a dependent", weight: 25, do: (*world).editDependent},
		{name: "add to a dependent", weight: 6, do: (*world).addToDependent},
		{name: "delete a dependent", weight: 12, do: (*world).deleteDependent},
		{name: "take the owner's label off a dependent", weight: 4, do: (*world).unlabelDependent},
		{name: "kill the operator", weight: 3, do: (*world).killOperator, kills: true, process: true},
		{name: "stop the operator", weight: 1, do: (*world).stopOperator, kills: true, process: true},
		{name: "restart the API server", weight: 1, do: (*world).restartAPIServer, process: true},
	}
}

// operate does something that is chosen at random.
func (w *world) operate(ctx context.Context) error {
	o := pickWeighted(w.random, operations())
	if o.kills && !w.killing {
		return nil
	}
	return w.perform(ctx, o)
}

// meanwhile does a few things, to objects alone.
func (w *world) meanwhile(ctx context.Context) error {
	objects := slices.DeleteFunc(operations(), func(o operation) bool { return o.process })
	for range w.random.IntN(maxMeanwhile) {
		if err := w.perform(ctx, pickWeighted(w.random, objects)); err != nil {
			return err
		}
	}
	return nil
}

// perform counts what could be done: an object may be gone, or have been written by the operator in between.
func (w *world) perform(ctx context.Context, o operation) error {
	err := o.do(w, ctx)
	switch {
	case err == nil:
		w.done[o.name]++
		return nil
	case apierrors.IsNotFound(err), apierrors.IsConflict(err), meta.IsNoMatchError(err):
		return nil
	}
	return fmt.Errorf("%s: %w", o.name, err)
}

// killOperator lets the operator notice nothing, and stopOperator lets it end in order; another one starts a while
// later.
func (w *world) killOperator(ctx context.Context) error {
	return w.succeed(ctx, (*operator).kill)
}

func (w *world) stopOperator(ctx context.Context) error {
	return w.succeed(ctx, (*operator).stop)
}

// succeed ends the operator, and starts the next one after a while.
func (w *world) succeed(ctx context.Context, end func(*operator) error) error {
	if err := w.endOperator(end); err != nil {
		return err
	}
	if err := w.meanwhile(ctx); err != nil {
		return err
	}
	return w.startOperator()
}

func (w *world) restartAPIServer(ctx context.Context) error {
	if err := w.readAudit(ctx); err != nil {
		return err
	}
	if err := w.cluster.RestartAPIServer(ctx); err != nil {
		return err
	}
	// The connection of our own client may be a broken one.
	return retry(ctx, func(ctx context.Context) error { return w.admin.Get(ctx, keyOf(settingsName), settingsMap()) })
}

// pick returns one of the choices, of which there is at least one.
func pick[T any](random *rand.Rand, choices []T) T { return choices[random.IntN(len(choices))] }

func pickWeighted(random *rand.Rand, from []operation) operation {
	total := 0
	for _, o := range from {
		total += o.weight
	}
	n := random.IntN(total)
	for _, o := range from {
		if n -= o.weight; n < 0 {
			return o
		}
	}
	return from[0]
}
