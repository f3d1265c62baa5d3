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

// namespaceState reads, as the operator, whether a namespace is gone or being deleted. If there is no namespace, or if
// it cannot be read, it is neither.
func (c *clients) namespaceState(ctx context.Context, namespace string) (gone, terminating bool) {
	if namespace == "" {
		return false, false
	}
	found, err := c.operator.Resource(namespaces).Get(ctx, namespace, metav1.GetOptions{})
	return apierrors.IsNotFound(err), err == nil && found.GetDeletionTimestamp() != nil
}

// countsAsGone reports whether an object that no identity may read counts as gone. It does if its namespace is gone.
// In a terminating namespace, finalizers may still hold the object, and their controllers must not be deleted, so the
// component waits for the end of the namespace. It cannot wait if its own namespace is terminating: it would wait for
// itself, because its finalizer holds that namespace, and lost rights do not come back there. The object is then
// deleted with its namespace, or held by the owner of a finalizer.
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
// deleted: rights that are granted there do not come back. Other failures are returned as they are.
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
