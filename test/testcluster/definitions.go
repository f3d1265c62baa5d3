package testcluster

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
)

// AwaitDefinitionDeleted returns when a CustomResourceDefinition does not exist, or with an error after a minute. It
// changes an annotation of a definition that is being deleted once a second, for this reason:
//
// Kubernetes 1.36 fails to list the instances of a type that was never requested ("storage is (re)initializing"), and
// tries again after 5 ms. If its copy of the definition is not up to date by then, the second attempt ends with a
// conflict, and the next attempt follows after up to five minutes, or when the definition changes.
func (c *Cluster) AwaitDefinitionDeleted(ctx context.Context, name string) error {
	config := c.Config()
	config.UserAgent = markerAgent
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("client for definitions: %w", err)
	}
	definitions := client.Resource(schema.GroupVersionResource{
		Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
	})
	err = wait.PollUntilContextTimeout(ctx, time.Second, time.Minute, false, func(ctx context.Context) (bool, error) {
		definition, err := definitions.Get(ctx, name, metav1.GetOptions{})
		if err == nil && definition.GetDeletionTimestamp() != nil {
			change := fmt.Appendf(nil, `{"metadata":{"annotations":{"%s":%q}}}`, markerAgent, time.Now())
			_, err = definitions.Patch(ctx, name, types.MergePatchType, change, metav1.PatchOptions{})
		}
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		return false, err
	})
	if err != nil {
		return fmt.Errorf("wait until CustomResourceDefinition %s is deleted: %w", name, err)
	}
	return nil
}
