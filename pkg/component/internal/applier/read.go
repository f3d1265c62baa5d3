package applier

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// ReadDependent returns a live object: from the watch if the watch stores whole objects of this type, or from the API
// server as the identity of the client.
func ReadDependent(
	ctx context.Context,
	client *target.Client,
	key manifests.Key,
	version string,
) (*unstructured.Unstructured, error) {
	if body := client.Observer.Body(client.Reader, key); body != nil {
		return body, nil
	}
	return ReadLive(ctx, client, key, version)
}

// ReadLive returns a live object from the API server as the identity of the client.
func ReadLive(
	ctx context.Context, client *target.Client, key manifests.Key, version string,
) (*unstructured.Unstructured, error) {
	var obj *unstructured.Unstructured
	mapper := client.Discovery.Mapper()
	err := client.Discovery.WithRenewal(func() error {
		mapping, err := mapper.RESTMapping(key.GroupKind(), version)
		if meta.IsNoMatchError(err) {
			mapping, err = mapper.RESTMapping(key.GroupKind())
		}
		if err != nil {
			return err
		}
		var resource dynamic.ResourceInterface = client.Dynamic.Resource(mapping.Resource)
		if key.Namespace != "" {
			resource = client.Dynamic.Resource(mapping.Resource).Namespace(key.Namespace)
		}
		obj, err = resource.Get(ctx, key.Name, metav1.GetOptions{})
		return err
	})
	return obj, err
}

// NotDependent returns a NotFound error for an object that is not a dependent.
func NotDependent(key manifests.Key) error {
	return apierrors.NewNotFound(schema.GroupResource{Group: key.Group, Resource: key.Kind}, key.Namespace+"/"+key.Name)
}
