package execute

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// createNamespace creates a namespace without a mark of ours: it is no dependent.
func (e *Executor) createNamespace(ctx context.Context, a plan.Action) (*plan.Observed, error) {
	resource, err := e.resource(a)
	if err != nil {
		return nil, err
	}
	body := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": a.Key.Kind, "metadata": map[string]any{"name": a.Key.Name},
	}}
	obj, err := resource.Create(ctx, body, metav1.CreateOptions{FieldManager: e.reconciler})
	if err != nil {
		return nil, err
	}
	return e.observe(obj, a), nil
}

// goesUnseen says that what nobody may read counts as gone: its namespace is gone, or nobody can wait for that. A namespace that is being deleted
// is gone in the end, and then so is all that was in it, whatever held it; until then finalizers of others may, whose controller must not be taken
// away. That is waited for, unless the component's own namespace is being deleted, too: we hold that one, so it would wait for itself, and who has
// lost the rights in one namespace gets them back in none. What is left then goes with its namespace, or is held by whoever put a finalizer on it.
func (e *Executor) goesUnseen(ctx context.Context, namespace string) bool {
	gone, terminating := e.endOf(ctx, namespace)
	if !terminating || namespace == e.home {
		return gone || terminating
	}
	_, alsoOurs := e.endOf(ctx, e.home)
	return alsoOurs
}

// NamespaceGoes says that a namespace is gone, or being deleted: nothing takes that back, and with it goes all that is in it. Rights that
// are granted in a namespace go early, and who is left without any cannot see the rest go.
func (e *Executor) NamespaceGoes(ctx context.Context, namespace string) bool {
	gone, terminating := e.endOf(ctx, namespace)
	return gone || terminating
}

// endOf asks, as the identity that watches, whether a namespace is gone, or being deleted. Of none, and where that may not be asked, it is neither.
func (e *Executor) endOf(ctx context.Context, namespace string) (gone, terminating bool) {
	if namespace == "" {
		return false, false
	}
	found, err := e.watching.Resource(namespaces).Get(ctx, namespace, metav1.GetOptions{})
	return apierrors.IsNotFound(err), err == nil && found.GetDeletionTimestamp() != nil
}

// isOfPhase says that an action applies what is applied because the component is deleted.
func isOfPhase(a plan.Action) bool {
	return a.Object != nil && a.Object.Settings.Phase != manifests.PhaseApply
}

// goneWithRights says of a create in a phase that was refused for want of a right that nobody gets it back: the namespace is being deleted, and
// rights that are granted there go early. Who still has them is told the same.
func (e *Executor) goneWithRights(ctx context.Context, f *plan.Failure, a plan.Action) *plan.Failure {
	if a.Verb != plan.VerbCreate || !isOfPhase(a) || f.Reason != plan.WaitForbidden {
		return f
	}
	if _, terminating := e.endOf(ctx, a.Key.Namespace); !terminating {
		return f
	}
	return &plan.Failure{
		Class: plan.Transient, Reason: plan.WaitNamespaceTerminating, Message: "namespace " + a.Key.Namespace + " is being deleted; " + f.Message,
	}
}
