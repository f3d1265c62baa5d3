package config

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// fieldOwner is the field manager of Install.
const fieldOwner = "fairlead-install"

// Objects returns the manifests of a folder, such as crd or rbac, in the order in which they can be applied.
func Objects(folder string) ([]*unstructured.Unstructured, error) {
	files, err := fs.Glob(Manifests, path.Join(folder, "*.yaml"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no manifests in folder %q", folder)
	}
	var objects []*unstructured.Unstructured
	for _, file := range slices.Sorted(slices.Values(files)) {
		content, err := fs.ReadFile(Manifests, file)
		if err != nil {
			return nil, err
		}
		found, err := manifests.Decode(file, content)
		if err != nil {
			return nil, err
		}
		objects = append(objects, found...)
	}
	return objects, nil
}

// Install applies the custom resource definitions and the RBAC of the operator, and waits until components are served.
// It needs an administrator's client. It can be repeated.
func Install(ctx context.Context, c client.Client) error {
	for _, folder := range []string{"crd", "rbac"} {
		objects, err := Objects(folder)
		if err != nil {
			return err
		}
		for _, object := range objects {
			if err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner(fieldOwner),
				client.ForceOwnership); err != nil {
				return fmt.Errorf("apply %s %s: %w", object.GetKind(), object.GetName(), err)
			}
		}
	}
	return waitForTypes(ctx, c)
}

// waitForTypes waits until components are served, which is a moment after the definition is established.
func waitForTypes(ctx context.Context, c client.Client) error {
	components := &unstructured.UnstructuredList{Object: map[string]any{
		"apiVersion": "fairlead.io/v1alpha1",
		"kind":       "ComponentList",
	}}
	var last error
	err := wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		last = c.List(ctx, components, client.Limit(1))
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("wait until components are served: %w (last answer: %w)", err, last)
	}
	return nil
}
