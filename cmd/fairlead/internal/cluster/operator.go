package cluster

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
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
	// held are the Leases that operators renewed lately.
	held []coordinationv1.Lease
	// hint is the end of a message if there may be further Leases.
	hint string
	// isOther is set for components of another operator than the ready-made one. Its Lease is never known.
	isOther bool
}

// IsCheckable reports whether the Lease of the operator can be known.
func (o Operator) IsCheckable() bool { return !o.isOther }

const (
	// absentAfter is the age of the last renewal of a Lease from which no operator holds the Lease. It is longer than the
	// start of a replica that takes over. A time that is as far in the future says nothing either.
	absentAfter = time.Minute
	// renewalWait is the time in which an operator renews its Lease. Its clock may differ from the clock of this machine,
	// so a Lease that looks old is read again.
	renewalWait, renewalPoll = 5 * time.Second, time.Second
)

// Operator reads the Lease of the operator of a component: one request if an operator runs, and some in five seconds if
// none does. Without a namespace in the target it does not check which namespaces the operator watches.
func (c *Cluster) Operator(ctx context.Context, target Target) Operator {
	if !target.IsReadyMade() {
		o := notChecked("the Lease of the operator of %s is not known", target.Mapping.Resource.GroupResource())
		o.isOther = true
		return o
	}
	reader := leaseReader{c.Client}
	leases, hint, err := reader.candidates(ctx, target.Namespace)
	switch {
	case apierrors.IsNotFound(err):
		return notChecked("there is no Lease %s in namespace %s; %s names another namespace", leader.Name,
			operatorNamespace(), operatorNamespaceVariable)
	case err != nil:
		return notChecked("%w", err)
	}
	var held, old []coordinationv1.Lease
	for _, lease := range leases {
		switch {
		case lease.Spec.RenewTime == nil:
		case isFresh(lease):
			held = append(held, lease)
		case target.Namespace == "" || leader.Watches(&lease, target.Namespace):
			old = append(old, lease)
		}
	}
	if len(held)+len(old) == 0 {
		return notChecked("the Lease %s/%s has no time", leases[0].Namespace, leases[0].Name)
	}
	if !watched(held, target.Namespace) {
		held = append(held, reader.renewed(ctx, old, target.Namespace)...)
	}
	if len(old) > 0 && (len(held) == 0 || target.Namespace != "" && !watched(held, target.Namespace)) {
		return absent(old, hint)
	}
	return Operator{State: OperatorServes, held: held, hint: hint}.In(target.Namespace)
}

// OperatorVersion is the version of the operator that holds a Lease in a namespace. It is empty for an operator that is
// too old to publish it.
type OperatorVersion struct{ Namespace, Version string }

// Versions returns the versions of the operators that hold a Lease, sorted by namespace.
func (o Operator) Versions() []OperatorVersion {
	var versions []OperatorVersion
	for _, lease := range o.held {
		versions = append(versions, OperatorVersion{Namespace: lease.Namespace, Version: leader.Version(&lease)})
	}
	slices.SortFunc(versions, func(a, b OperatorVersion) int { return cmp.Compare(a.Namespace, b.Namespace) })
	return versions
}

// In returns what is known of the operators for the components of a namespace.
func (o Operator) In(namespace string) Operator {
	if o.State != OperatorServes || namespace == "" || watched(o.held, namespace) {
		return o
	}
	message := fmt.Sprintf("the operator does not watch namespace %s, so nobody serves the components there", namespace)
	if o.hint != "" {
		first := o.held[0]
		message = fmt.Sprintf("the operator of the Lease %s/%s does not watch namespace %s%s", first.Namespace, first.Name,
			namespace, o.hint)
	}
	return Operator{State: OperatorAbsent, Message: message}
}

// absent says that no operator renews Leases. The message names the Lease that was renewed last.
func absent(old []coordinationv1.Lease, hint string) Operator {
	latest := slices.MaxFunc(old, func(a, b coordinationv1.Lease) int {
		return a.Spec.RenewTime.Compare(b.Spec.RenewTime.Time)
	})
	// The Lease was read for renewalWait. Its time may be in the future, by a clock that differs.
	age := max(time.Since(latest.Spec.RenewTime.Time), renewalWait)
	return Operator{State: OperatorAbsent, Message: fmt.Sprintf(
		"no operator has held the Lease %s/%s for %s; if yours runs without leader election, delete this Lease%s",
		latest.Namespace, latest.Name, duration.HumanDuration(age), hint)}
}

func notChecked(format string, args ...any) Operator {
	return Operator{State: OperatorNotChecked, Message: "operator not checked: " + fmt.Errorf(format, args...).Error()}
}

func operatorNamespace() string {
	return cmp.Or(os.Getenv(operatorNamespaceVariable), leader.DefaultNamespace)
}

// isFresh reports whether an operator renewed a Lease lately.
func isFresh(lease coordinationv1.Lease) bool {
	return lease.Spec.RenewTime != nil && time.Since(lease.Spec.RenewTime.Time).Abs() < absentAfter
}

// watched reports whether the operator of one of the Leases watches a namespace; or all, if namespace is empty.
func watched(leases []coordinationv1.Lease, namespace string) bool {
	return slices.ContainsFunc(leases, func(l coordinationv1.Lease) bool { return leader.Watches(&l, namespace) })
}

// leaseReader reads the Leases of operators.
type leaseReader struct{ client.Reader }

// candidates reads the Lease of the operator in the namespace in the environment. Without this variable it reads that
// in the default namespace, and if its operator does not serve the components, those in all namespaces. The error is
// about the first Lease. If the Leases in all namespaces cannot be read, the hint is the end of a message that says so.
func (r leaseReader) candidates(
	ctx context.Context, namespace string,
) (leases []coordinationv1.Lease, hint string, err error) {
	first := coordinationv1.Lease{}
	err = r.Get(ctx, client.ObjectKey{Namespace: operatorNamespace(), Name: leader.Name}, &first)
	leases = []coordinationv1.Lease{first}
	switch {
	case os.Getenv(operatorNamespaceVariable) != "",
		err == nil && isFresh(first) && leader.Watches(&first, namespace),
		err != nil && !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err):
		return leases, "", err
	}
	list := &coordinationv1.LeaseList{}
	if r.List(ctx, list, client.MatchingFields{"metadata.name": leader.Name}) == nil && len(list.Items) > 0 {
		return list.Items, "", nil
	}
	return leases, "; " + operatorNamespaceVariable + " names the namespace of another operator", err
}

// renewed returns the Leases that operators renew in the next seconds. It ends as soon as one of the operators watches
// the namespace.
func (r leaseReader) renewed(ctx context.Context, old []coordinationv1.Lease, namespace string) []coordinationv1.Lease {
	ctx, cancel := context.WithTimeout(ctx, renewalWait)
	defer cancel()
	ticker := time.NewTicker(renewalPoll)
	defer ticker.Stop()
	var renewed []coordinationv1.Lease
	for waiting := slices.Clone(old); len(waiting) > 0 && !watched(renewed, namespace); {
		select {
		case <-ctx.Done():
			return renewed
		case <-ticker.C:
		}
		waiting = slices.DeleteFunc(waiting, func(before coordinationv1.Lease) bool {
			now := coordinationv1.Lease{}
			if r.Get(ctx, client.ObjectKeyFromObject(&before), &now) != nil ||
				now.Spec.RenewTime.Equal(before.Spec.RenewTime) {
				return false
			}
			renewed = append(renewed, now)
			return true
		})
	}
	return renewed
}
