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

// namespaceState reads, as the operator, whether a namespace is gone or being deleted. Both results are false if the
// name is empty, or if the namespace cannot be read.
func (c *clients) namespaceState(ctx context.Context, namespace string) (gone, terminating bool) {
	if namespace == "" {
		return false, false
	}
	found, err := c.operator.Resource(namespaces).Get(ctx, namespace, metav1.GetOptions{})
	return apierrors.IsNotFound(err), err == nil && found.GetDeletionTimestamp() != nil
}

// countsAsGone reports whether an object that no identity may read counts as gone. The object counts as gone if its
// namespace is gone. While that namespace is terminating, finalizers may still hold the object, and the controllers of
// these finalizers may be among the dependents, so the component waits for the end of the namespace. If the component's
// own namespace is terminating, the component does not wait: its own finalizer holds its namespace, and rights that
// roles there granted do not come back. The object then counts as gone, too; it is deleted with its namespace, as soon
// as no finalizer holds it.
func (c *clients) countsAsGone(ctx context.Context, namespace string) bool {
	gone, terminating := c.namespaceState(ctx, namespace)
	if !terminating || namespace == c.componentNamespace {
		return gone || terminating
	}
	_, ownTerminating := c.namespaceState(ctx, c.componentNamespace)
	return ownTerminating
}

// inDeletionPhase reports whether the object of an action is applied because the component is being deleted.
func inDeletionPhase(a plan.Action) bool {
	return a.Object != nil && a.Object.Settings.Phase != manifests.PhaseApply
}

// explainForbidden replaces the failure of a create in a deletion phase that lacks a right, if the namespace is being
// deleted: rights that roles in that namespace granted do not come back. Other failures are returned as they are.
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
