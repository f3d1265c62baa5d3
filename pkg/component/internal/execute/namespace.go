package execute

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

var namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

// namespaceState reads, as the operator, whether a namespace does not exist or is being deleted. Both results are false
// if the name is empty, or if the namespace cannot be read.
func (c *clients) namespaceState(ctx context.Context, namespace string) (absent, terminating bool) {
	if namespace == "" {
		return false, false
	}
	found, err := c.operator.Resource(namespaces).Get(ctx, namespace, metav1.GetOptions{})
	return apierrors.IsNotFound(err), err == nil && found.GetDeletionTimestamp() != nil
}

// countsAsDeleted reports whether an object that no identity may read is treated as deleted. The object is treated as
// deleted if its namespace does not exist. While the namespace is terminating, the object may still exist because of
// finalizers, and a dependent may be the controller that removes these finalizers. So the component waits until the
// namespace no longer exists. The component does not wait if its own namespace is terminating: its finalizer blocks the
// deletion of its namespace, and the deleted roles in this namespace are not restored. The object is then treated as
// deleted, and is deleted with its namespace.
func (c *clients) countsAsDeleted(ctx context.Context, namespace string) bool {
	absent, terminating := c.namespaceState(ctx, namespace)
	if !terminating || namespace == c.componentNamespace {
		return absent || terminating
	}
	_, ownTerminating := c.namespaceState(ctx, c.componentNamespace)
	return ownTerminating
}

// inDeletionPhase reports whether the object of an action belongs to a deletion phase.
func inDeletionPhase(a plan.Action) bool {
	return a.Object != nil && a.Object.Settings.Phase != manifests.PhaseApply
}

// explainForbidden replaces the failure of a create in a deletion phase if a right is missing because the namespace of
// the object is being deleted. The roles in that namespace are deleted and not restored. Other failures are returned
// unchanged.
func (c *clients) explainForbidden(ctx context.Context, f *plan.Failure, a plan.Action) *plan.Failure {
	if a.Verb != plan.VerbCreate || !inDeletionPhase(a) || f.Reason != plan.WaitForbidden {
		return f
	}
	if _, terminating := c.namespaceState(ctx, a.Key.Namespace); !terminating {
		return f
	}
	return &plan.Failure{
		Class: plan.Transient, Reason: plan.WaitNamespaceTerminating,
		Message: "namespace " + a.Key.Namespace + " is being deleted; " + f.Message,
	}
}
