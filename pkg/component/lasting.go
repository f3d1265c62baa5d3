package component

import (
	"context"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Rights that are granted in a namespace go with it, and early: Kubernetes deletes bindings while finalizers hold Secrets. A finalizer that
// nobody may take off then holds the namespace for ever, which is worse than a record that goes with it. What is recorded can be done
// without: an inventory is rebuilt from labels, and in a namespace that is being deleted hardly a phase can be applied.

// lastingFor is how long the answer counts whether our rights last: they change seldom, and records are written now and then.
const lastingFor = 10 * time.Minute

// lasting is what is known of how far the right to let go of Secrets reaches.
type lasting struct {
	mu sync.Mutex
	// answered is when the API server said it last.
	answered time.Time
	anywhere bool
}

// rightsLast says that the right to take a finalizer off the records of a component outlives their namespace: it is granted in all namespaces.
// Where the API server does not say, its last answer counts, and it is asked again the next time; without any, it is taken to be. The namespace
// with the records of components that have none is not going to be deleted.
func (r *Reconciler[T]) rightsLast(ctx context.Context, owner manifests.Owner) bool {
	if owner.Namespace == "" {
		return true
	}
	r.lasting.mu.Lock()
	defer r.lasting.mu.Unlock()
	now := r.clock.Now()
	known := !r.lasting.answered.IsZero()
	if known && now.Sub(r.lasting.answered) < lastingFor {
		return r.lasting.anywhere
	}
	anywhere, err := r.mayPatchAnywhere(ctx)
	if err != nil {
		return !known || r.lasting.anywhere
	}
	r.lasting.answered, r.lasting.anywhere = now, anywhere
	return anywhere
}

// mayPatchAnywhere asks the API server whether we may patch Secrets in all namespaces.
func (r *Reconciler[T]) mayPatchAnywhere(ctx context.Context) (bool, error) {
	review := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": authorizationv1.SchemeGroupVersion.String(), "kind": "SelfSubjectAccessReview",
		"spec": map[string]any{"resourceAttributes": map[string]any{"verb": "patch", "version": secretResource.Version, "resource": secretResource.Resource}},
	}}
	reviews := r.local.watching.Resource(authorizationv1.SchemeGroupVersion.WithResource("selfsubjectaccessreviews"))
	answer, err := reviews.Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	allowed, _, _ := unstructured.NestedBool(answer.Object, "status", "allowed")
	return allowed, nil
}

// outOfReach says of a refused request about a record that nobody is going to allow it: the namespace of the record is being deleted, and the
// record with it, unless a finalizer holds it.
func (r *Reconciler[T]) outOfReach(ctx context.Context, owner manifests.Owner, err error) bool {
	return apierrors.IsForbidden(err) && r.local.checking.NamespaceGoes(ctx, r.recordNamespace(owner))
}
