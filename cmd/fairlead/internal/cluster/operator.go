package cluster

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/internal/leader"
)

// operatorNamespaceVariable is the environment variable with the namespace of the operator's Lease.
const operatorNamespaceVariable = "FAIRLEAD_OPERATOR_NAMESPACE"

// OperatorState says whether an operator serves a component.
type OperatorState string

// The states of an operator.
const (
	// OperatorServes means that an operator renewed its Lease lately, and watches the namespace of the component.
	OperatorServes OperatorState = "Serves"
	// OperatorAbsent means that a status is as old as its last write, because no operator serves the component.
	OperatorAbsent OperatorState = "Absent"
	// OperatorNotChecked means that no Lease is known or readable.
	OperatorNotChecked OperatorState = "NotChecked"
)

// Operator says whether an operator serves components, and why not.
type Operator struct {
	State   OperatorState
	Message string
	lease   *coordinationv1.Lease
}

const (
	// absentAfter is the age of the last renewal of a Lease from which no operator holds the Lease. It is longer than the
	// start of a replica that takes over.
	absentAfter = time.Minute
	// renewalWait is the time in which an operator renews its Lease. Its clock may differ from the clock of this machine,
	// so a Lease that looks old is read again.
	renewalWait, renewalPoll = 5 * time.Second, time.Second
)

// Operator reads the Lease of the operator of a component: one request if an operator runs, and some in five seconds if
// none does. Without a namespace in the target it does not check which namespaces the operator watches.
func (c *Cluster) Operator(ctx context.Context, target Target) Operator {
	if !target.IsReadyMade() {
		return notChecked("the Lease of the operator of %s is not known", target.Mapping.Resource.GroupResource())
	}
	lease, err := c.lease(ctx)
	switch {
	case apierrors.IsNotFound(err):
		return notChecked("there is no Lease %s in namespace %s; %s names another namespace", leader.Name,
			operatorNamespace(), operatorNamespaceVariable)
	case err != nil:
		return notChecked("%w", err)
	case lease.Spec.RenewTime == nil:
		return notChecked("the Lease %s/%s has no time", lease.Namespace, lease.Name)
	}
	if age := time.Since(lease.Spec.RenewTime.Time); age >= absentAfter && !c.renewed(ctx, lease) {
		return Operator{State: OperatorAbsent, Message: fmt.Sprintf("no operator has held the Lease %s/%s for %s",
			lease.Namespace, lease.Name, duration.HumanDuration(age))}
	}
	return Operator{State: OperatorServes, lease: lease}.In(target.Namespace)
}

// In returns what is known of the operator for the components of a namespace.
func (o Operator) In(namespace string) Operator {
	if o.State != OperatorServes || namespace == "" || leader.Watches(o.lease, namespace) {
		return o
	}
	return Operator{State: OperatorAbsent, Message: fmt.Sprintf(
		"the operator does not watch namespace %s, so nobody serves the components there", namespace)}
}

func notChecked(format string, args ...any) Operator {
	return Operator{State: OperatorNotChecked, Message: "operator not checked: " + fmt.Errorf(format, args...).Error()}
}

func operatorNamespace() string {
	return cmp.Or(os.Getenv(operatorNamespaceVariable), leader.DefaultNamespace)
}

// lease reads the Lease of the operator in the namespace in the environment, or else in the default namespace, or else
// in any namespace. The error is about the first of these.
func (c *Cluster) lease(ctx context.Context) (*coordinationv1.Lease, error) {
	lease := &coordinationv1.Lease{}
	err := c.Get(ctx, client.ObjectKey{Namespace: operatorNamespace(), Name: leader.Name}, lease)
	if err == nil || os.Getenv(operatorNamespaceVariable) != "" || !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) {
		return lease, err
	}
	list := &coordinationv1.LeaseList{}
	if c.Client.List(ctx, list, client.MatchingFields{"metadata.name": leader.Name}) != nil || len(list.Items) == 0 {
		return nil, err
	}
	latest := &list.Items[0]
	for i := range list.Items {
		if renewed := list.Items[i].Spec.RenewTime; latest.Spec.RenewTime.Before(renewed) {
			latest = &list.Items[i]
		}
	}
	return latest, nil
}

// renewed reports whether an operator renews a Lease in the next seconds.
func (c *Cluster) renewed(ctx context.Context, lease *coordinationv1.Lease) bool {
	ctx, cancel := context.WithTimeout(ctx, renewalWait)
	defer cancel()
	ticker := time.NewTicker(renewalPoll)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-ticker.C:
		}
		now := &coordinationv1.Lease{}
		if c.Get(ctx, client.ObjectKeyFromObject(lease), now) == nil && !now.Spec.RenewTime.Equal(lease.Spec.RenewTime) {
			return true
		}
	}
}
