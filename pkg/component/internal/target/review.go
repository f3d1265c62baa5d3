package target

import (
	"context"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// MayGet asks the API server whether the identity of the client may get an object. The identity asks about itself, so
// neither the operator nor the identity needs a right that it does not have anyway.
func (c *Client) MayGet(ctx context.Context, key manifests.Key) (bool, error) {
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
