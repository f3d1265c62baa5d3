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
	// maxGuests is the maximum number of components in addition to the residents.
	maxGuests = 30
	// retryInterval is the retry interval of components. It is short, because many of their errors need a retry here.
	retryInterval = 5 * time.Second
	// maxMeanwhile is the maximum number of operations that are performed while no operator runs.
	maxMeanwhile = 12
)

// operation is a change of the cluster or of the operator.
type operation struct {
	name string
	// weight is the relative frequency of the operation.
	weight int
	do     func(*world, context.Context) error
	// kills is set if the operation ends the operator. process is set if the operation affects a process, and not
	// objects.
	kills, process bool
}

// operations returns all operations.
func operations() []operation {
	return []operation{
		{name: "create a component", weight: 12, do: (*world).createGuest},
		{name: "change a component", weight: 16, do: (*world).changeAny},
		{name: "delete a component", weight: 9, do: (*world).removeGuest},
		{name: "empty a status", weight: 1, do: (*world).emptyStatus},
		{name: "change the settings that components read", weight: 2, do: (*world).changeSettings},
		{name: "edit a dependent", weight: 25, do: (*world).editDependent},
		{name: "add to a dependent", weight: 6, do: (*world).addToDependent},
		{name: "delete a dependent", weight: 12, do: (*world).deleteDependent},
		{name: "remove the owner label of a dependent", weight: 4, do: (*world).unlabelDependent},
		{name: "kill the operator", weight: 3, do: (*world).killOperator, kills: true, process: true},
		{name: "stop the operator", weight: 1, do: (*world).stopOperator, kills: true, process: true},
		{name: "restart the API server", weight: 1, do: (*world).restartAPIServer, process: true},
	}
}

// operate performs a random operation.
func (w *world) operate(ctx context.Context) error {
	o := pickWeighted(w.random, operations())
	if o.kills && !w.killing {
		return nil
	}
	return w.perform(ctx, o)
}

// meanwhile performs some random operations on objects.
func (w *world) meanwhile(ctx context.Context) error {
	objects := slices.DeleteFunc(operations(), func(o operation) bool { return o.process })
	for range w.random.IntN(maxMeanwhile) {
		if err := w.perform(ctx, pickWeighted(w.random, objects)); err != nil {
			return err
		}
	}
	return nil
}

// perform performs an operation and counts it if it was possible. An operation is impossible if its object was deleted,
// or was written by the operator in between.
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

// killOperator ends the operator by SIGKILL, and stopOperator lets the operator end in order. Both start another
// operator a while later.
func (w *world) killOperator(ctx context.Context) error {
	return w.succeed(ctx, (*operator).kill)
}

func (w *world) stopOperator(ctx context.Context) error {
	return w.succeed(ctx, (*operator).stop)
}

// succeed ends the operator, performs some operations, and starts the next operator.
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
	// The connection of this program's client may be broken, so the first request is repeated.
	return retry(ctx, func(ctx context.Context) error { return w.admin.Get(ctx, keyOf(settingsName), settingsMap()) })
}

// pick returns a random element of choices, which must not be empty.
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
