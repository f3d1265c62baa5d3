package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/test/testcluster"
)

const (
	operatorBinary    = "bin/fairlead-operator"
	operatorNamespace = "fairlead-system"
	// operatorUser is how the API server sees the ServiceAccount of config/rbac.
	operatorUser = "system:serviceaccount:" + operatorNamespace + ":fairlead-operator"
	// stopPatience is longer than the operator gives the passes that are under way.
	stopPatience = 30 * time.Second
	// tailLines is how much of a log is shown.
	tailLines = 20
)

// operatorSettings are what the operator is started with.
type operatorSettings struct {
	cluster *testcluster.Cluster
	admin   client.Client
	log     string
	// ended is called if the operator ends by itself.
	ended context.CancelCauseFunc
}

// operator is a running operator.
type operator struct {
	command *exec.Cmd
	// done gets what Wait returned.
	done chan error
}

// startOperator starts the operator under its own identity, and returns when it works.
func startOperator(ctx context.Context, n *narrator, s operatorSettings) (*operator, error) {
	n.step("Start the operator as the ServiceAccount fairlead-operator, with its rules alone")
	identity, err := s.cluster.User(ctx, operatorUser, "system:serviceaccounts", "system:serviceaccounts:"+operatorNamespace)
	if err != nil {
		return nil, err
	}
	arguments := []string{"--leader-elect", "--leader-election-namespace=" + operatorNamespace}
	n.command(append([]string{operatorBinary}, arguments...)...)
	watch := startWatch()
	arguments = append(arguments, "--kubeconfig="+identity.Kubeconfig, "--metrics-bind-address=0", "--health-probe-bind-address=0")
	o, err := launch(arguments, s)
	if err != nil {
		return nil, err
	}
	if err := isLeading(ctx, s.admin); err != nil {
		return nil, errors.Join(err, o.stop())
	}
	n.held(watch.elapsed(), "it holds the Lease, and works")
	watch = startWatch()
	if err := isNoAdministrator(ctx, s.admin); err != nil {
		return nil, errors.Join(err, o.stop())
	}
	n.held(watch.elapsed(), "it is no cluster admin")
	return o, nil
}

// launch starts the process. It must be called from the main thread, with which the process ends.
func launch(arguments []string, s operatorSettings) (*operator, error) {
	log, err := os.Create(s.log)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // The process has a handle of its own.
	o := &operator{command: exec.Command(operatorBinary, arguments...), done: make(chan error, 1)}
	o.command.Stdout, o.command.Stderr = log, log
	// A group of its own: Ctrl-C is for the demo, which ends the operator in order.
	o.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if err := o.command.Start(); err != nil {
		return nil, fmt.Errorf("start the operator: %w", err)
	}
	go func() {
		err := o.command.Wait()
		s.ended(fmt.Errorf("the operator ended by itself: %s", o.command.ProcessState))
		o.done <- err
	}()
	return o, nil
}

// stop ends the operator as kubelet does, and returns when it is gone.
func (o *operator) stop() error {
	_ = o.command.Process.Signal(syscall.SIGTERM) // It may be gone already.
	select {
	case err := <-o.done:
		if err != nil {
			return fmt.Errorf("the operator's end: %w", err)
		}
		return nil
	case <-time.After(stopPatience):
		_ = o.command.Process.Kill()
		return fmt.Errorf("the operator did not end within %s, and was killed: %w", stopPatience, <-o.done)
	}
}

// isLeading returns when the operator holds its Lease.
func isLeading(ctx context.Context, admin client.Client) error {
	return eventually(ctx, func(ctx context.Context) error {
		lease := &coordinationv1.Lease{}
		if err := admin.Get(ctx, client.ObjectKey{Namespace: operatorNamespace, Name: "fairlead-operator"}, lease); err != nil {
			return err
		}
		if lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" {
			return errors.New("nobody holds the operator's Lease")
		}
		return nil
	})
}

// isNoAdministrator asks the API server whether the operator may do everything.
func isNoAdministrator(ctx context.Context, admin client.Client) error {
	allowed, err := may(ctx, admin, operatorUser, authorizationv1.ResourceAttributes{Verb: "*", Group: "*", Resource: "*"})
	if err == nil && allowed {
		err = fmt.Errorf("%s may do everything", operatorUser)
	}
	return err
}

// may asks the API server whether a user may do something.
func may(ctx context.Context, admin client.Client, user string, what authorizationv1.ResourceAttributes) (bool, error) {
	review := &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: &what},
	}
	err := admin.Create(ctx, review)
	return review.Status.Allowed, err
}

// tail shows the last lines of a log.
func tail(path string, out io.Writer) {
	content, err := os.ReadFile(path)
	if err != nil {
		_, _ = fmt.Fprintln(out, err)
		return
	}
	lines := bytes.Split(bytes.TrimSpace(content), []byte("\n"))
	for _, line := range lines[max(0, len(lines)-tailLines):] {
		_, _ = fmt.Fprintf(out, "%s\n", line)
	}
}
