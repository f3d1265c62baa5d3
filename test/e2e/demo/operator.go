package main

import (
	"context"
	"errors"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/test/program"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

// operatorSettings are the settings of the operator.
type operatorSettings struct {
	cluster *testcluster.Cluster
	admin   client.Client
	log     string
	// ended is called if the operator ends without being stopped.
	ended context.CancelCauseFunc
}

// operator is the operator that this program has started.
type operator struct {
	process *program.Operator
	// command starts an operator with the same settings.
	command []string
	log     string
	// ended is closed when the operator has ended, and then why says how.
	ended <-chan struct{}
	why   func() error
}

// stop ends the operator, unless it has ended by itself.
func (o *operator) stop() error {
	select {
	case <-o.ended:
		return nil
	default:
		return o.process.Stop()
	}
}

// startOperator starts the operator under its own identity, and waits until it is ready. ctx must end with the
// operator.
func startOperator(ctx context.Context, n *narrator, s operatorSettings) (*operator, error) {
	n.step("Start the operator as the ServiceAccount fairlead-operator, with only its own rules")
	identity, err := program.OperatorIdentity(ctx, s.cluster)
	if err != nil {
		return nil, err
	}
	arguments := []string{"--leader-elect", "--leader-election-namespace=" + program.OperatorNamespace}
	n.command(append([]string{program.OperatorBinary}, arguments...)...)
	watch := startWatch()
	arguments = append(
		arguments,
		"--kubeconfig="+identity.Kubeconfig,
		"--metrics-bind-address=0",
		"--health-probe-bind-address=0",
		"--allow-address=127.0.0.0/8", // Servers of users listen on the host on which the operator runs.
	)
	process, err := program.StartOperator(s.log, arguments, s.ended)
	if err != nil {
		return nil, err
	}
	if err := program.WaitForLease(ctx, s.admin); err != nil {
		return nil, errors.Join(err, process.Stop())
	}
	n.held(watch.elapsed(), "the operator holds the Lease")
	watch = startWatch()
	if err := isNoAdministrator(ctx, s.admin); err != nil {
		return nil, errors.Join(err, process.Stop())
	}
	n.held(watch.elapsed(), "the operator is not a cluster admin")
	return &operator{
		process: process, command: append([]string{program.OperatorBinary}, arguments...), log: s.log,
		ended: ctx.Done(), why: func() error { return context.Cause(ctx) },
	}, nil
}

// isNoAdministrator checks that the operator does not have all rights.
func isNoAdministrator(ctx context.Context, admin client.Client) error {
	allowed, err := may(
		ctx,
		admin,
		program.OperatorUser,
		authorizationv1.ResourceAttributes{Verb: "*", Group: "*", Resource: "*"},
	)
	if err == nil && allowed {
		err = fmt.Errorf("%s has all rights", program.OperatorUser)
	}
	return err
}

// may reports whether a user has a right.
func may(ctx context.Context, admin client.Client, user string, what authorizationv1.ResourceAttributes) (bool, error) {
	review := &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: &what},
	}
	err := admin.Create(ctx, review)
	return review.Status.Allowed, err
}
