package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/show"
)

// operatorOf returns what is known of the operator of a component, in the form that commands print. It returns nil if
// an operator serves the component.
func operatorOf(o cluster.Operator) *show.Operator {
	if o.State == cluster.OperatorServes {
		return nil
	}
	return &show.Operator{State: string(o.State), Message: o.Message}
}

// tellOperator prints on stderr that no operator serves a component, or that this was not checked.
func (a *app) tellOperator(o cluster.Operator) {
	if o.State != cluster.OperatorServes {
		a.warn(errors.New(o.Message))
	}
}

// tellOperatorIn is like tellOperator for the components of some namespaces.
func (a *app) tellOperatorIn(o cluster.Operator, namespaces []string) {
	a.tellOperator(o)
	if o.State != cluster.OperatorServes {
		return
	}
	slices.Sort(namespaces)
	for _, namespace := range slices.Compact(namespaces) {
		a.tellOperator(o.In(namespace))
	}
}

// warnOfAbsence warns that no operator serves a component that a command has written without waiting. It says nothing if
// no Lease is known, because the command does not show a status.
func warnOfAbsence(ctx context.Context, a *app, f cluster.Object) {
	if o := f.Cluster.Operator(ctx, f.Target); o.State == cluster.OperatorAbsent {
		a.warn(fmt.Errorf("nothing happens before an operator runs: %s", o.Message))
	}
}

// withOperator calls wait, which waits until a component has a state. It says before that no operator serves the
// component. If this is still true afterwards, the state is that of an earlier operator, and withOperator returns an
// error.
func (a *app) withOperator(ctx context.Context, f cluster.Object, wait func() error) error {
	before := f.Cluster.Operator(ctx, f.Target)
	a.tellOperator(before)
	if err := wait(); err != nil || before.State != cluster.OperatorAbsent {
		return err
	}
	if after := f.Cluster.Operator(ctx, f.Target); after.State == cluster.OperatorAbsent {
		return exit.Refuse("%s has an old status: %s", f.Target, after.Message)
	}
	return nil
}
