package target

import (
	"context"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-io/fairlead/pkg/component/internal/discovery"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// MayGet asks the API server, for each object, whether the identity of the client may get it. The identity asks about
// itself, so neither the operator nor the identity needs a right that it does not have anyway. A refused review counts
// as an answer. An object whose review failed is not in the result; the error is logged.
func (c *Client) MayGet(ctx context.Context, keys []manifests.Key) map[manifests.Key]bool {
	type review struct {
		key     manifests.Key
		allowed bool
	}
	// The errors are logged, so ForEach returns no error.
	reviews, _ := discovery.ForEach(keys, func(key manifests.Key) ([]review, error) {
		allowed, err := c.mayGet(ctx, key)
		if err != nil && !apierrors.IsForbidden(err) {
			log.FromContext(ctx).V(1).Info("an access review failed", "object", key.String(), "cause", err.Error())
			return nil, nil
		}
		return []review{{key, allowed}}, nil
	})
	answers := map[manifests.Key]bool{}
	for _, r := range reviews {
		answers[r.key] = r.allowed
	}
	return answers
}

func (c *Client) mayGet(ctx context.Context, key manifests.Key) (bool, error) {
	mapping, err := c.Discovery.Mapper().RESTMapping(key.GroupKind())
	if err != nil {
		return false, fmt.Errorf("find the resource of %s: %w", key, err)
	}
	review := &authorizationv1.SelfSubjectAccessReview{
		TypeMeta: metav1.TypeMeta{
			APIVersion: authorizationv1.SchemeGroupVersion.String(), Kind: "SelfSubjectAccessReview",
		},
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: "get", Group: mapping.Resource.Group, Resource: mapping.Resource.Resource,
			Namespace: key.Namespace, Name: key.Name,
		}},
	}
	body, err := runtime.DefaultUnstructuredConverter.ToUnstructured(review)
	if err != nil {
		return false, err
	}
	answer, err := c.Dynamic.Resource(authorizationv1.SchemeGroupVersion.WithResource("selfsubjectaccessreviews")).
		Create(ctx, &unstructured.Unstructured{Object: body}, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	allowed, _, _ := unstructured.NestedBool(answer.Object, "status", "allowed")
	return allowed, nil
}
