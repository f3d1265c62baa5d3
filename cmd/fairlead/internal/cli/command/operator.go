package command

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/show"
)

// ShownOperator returns what is known of the operator of a component, in the form that commands print. It returns nil
// if an operator serves the component.
func ShownOperator(o cluster.Operator) *show.Operator {
	if o.State == cluster.OperatorServes {
		return nil
	}
	return &show.Operator{State: string(o.State), Message: o.Message}
}

// WarnOfOperator warns that no operator serves a component, or that this was not checked although it can be.
func WarnOfOperator(o cluster.Operator, warn func(error)) {
	if o.State != cluster.OperatorServes && o.IsCheckable() {
		warn(errors.New(o.Message))
	}
}

// WarnOfOperatorIn warns once if no operator serves the components, or if this was not checked, and otherwise for each
// of the namespaces that the operator does not watch. It sorts the namespaces.
func WarnOfOperatorIn(o cluster.Operator, namespaces []string, warn func(error)) {
	WarnOfOperator(o, warn)
	if o.State != cluster.OperatorServes {
		return
	}
	slices.Sort(namespaces)
	for _, namespace := range slices.Compact(namespaces) {
		WarnOfOperator(o.In(namespace), warn)
	}
}

// WarnOfAbsence warns that no operator serves a component that a command has written without waiting. It says nothing
// if it is not known whether an operator runs. Only a command that shows a status, which may be old, warns of that; see
// WarnOfOperator.
func WarnOfAbsence(ctx context.Context, f cluster.Object, warn func(error)) {
	if o := f.Cluster.Operator(ctx, f.Target); o.State == cluster.OperatorAbsent {
		warn(fmt.Errorf("nothing happens before an operator runs: %s", o.Message))
	}
}

// WithOperator calls wait, which waits until a component has a state. It warns before that no operator serves the
// component. If this is still true afterwards, the state is that of an earlier operator, and WithOperator returns an
// error.
func WithOperator(ctx context.Context, f cluster.Object, warn func(error), wait func() error) error {
	before := f.Cluster.Operator(ctx, f.Target)
	WarnOfOperator(before, warn)
	if err := wait(); err != nil || before.State != cluster.OperatorAbsent {
		return err
	}
	if after := f.Cluster.Operator(ctx, f.Target); after.State == cluster.OperatorAbsent {
		return exit.Refuse("%s has an old status: %s", f.Target, after.Message)
	}
	return nil
}
