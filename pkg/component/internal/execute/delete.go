package execute

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

var customResourceDefinitions = schema.GroupVersionResource{
	Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
}

var namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

// delete deletes exactly the object that was observed. An object that has finalizers, or pods to wait for, is terminating; in all other
// cases it is gone, whether the answer is a bare success or, for some types, the deleted object.
func (e *Executor) delete(ctx context.Context, a plan.Action) (*plan.Observed, error) {
	obj, err := e.deleteObject(ctx, a, metav1.DeleteOptions{
		Preconditions:     &metav1.Preconditions{UID: &a.Preconditions.UID, ResourceVersion: &a.Preconditions.ResourceVersion},
		PropagationPolicy: new(propagation(a.Key.GroupKind())),
	})
	if err != nil && !isNotFound(err) {
		return nil, err
	}
	if obj == nil || obj.GetDeletionTimestamp() == nil {
		return &plan.Observed{Presence: plan.Absent, Confirmed: true, UID: a.Preconditions.UID}, nil
	}
	return e.observe(obj, a), nil
}

// propagation makes the deletion of a workload wait for its pods; the raw deletion of a Job would even leave them.
func propagation(gk schema.GroupKind) metav1.DeletionPropagation {
	if gk.Group == "apps" || gk.Group == "batch" || gk == (schema.GroupKind{Kind: "ReplicationController"}) {
		return metav1.DeletePropagationForeground
	}
	return metav1.DeletePropagationBackground
}

// unserved answers the question whether an object exists whose type is not served. It is gone only where nothing defines the type any
// more: a definition that is there, but not established, still has its instances in the store.
func (e *Executor) unserved(ctx context.Context, a plan.Action, cause error) (*plan.Observed, error) {
	if !isNotServed(cause) {
		return nil, cause
	}
	for _, source := range []struct {
		resource schema.GroupVersionResource
		defines  func(*unstructured.Unstructured) bool
	}{
		{customResourceDefinitions, func(o *unstructured.Unstructured) bool {
			group, _, _ := unstructured.NestedString(o.Object, "spec", "group")
			kind, _, _ := unstructured.NestedString(o.Object, "spec", "names", "kind")
			scope, _, _ := unstructured.NestedString(o.Object, "spec", "scope")
			// A type that was defined anew has no objects of its former scope: they went with the former definition.
			anew := scope == "Cluster" && a.Key.Namespace != "" || scope == "Namespaced" && a.Key.Namespace == ""
			return group == a.Key.Group && kind == a.Key.Kind && !anew
		}},
		{schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}, func(o *unstructured.Unstructured) bool {
			group, _, _ := unstructured.NestedString(o.Object, "spec", "group")
			_, aggregated, _ := unstructured.NestedMap(o.Object, "spec", "service")
			return aggregated && group == a.Key.Group
		}},
	} {
		list, err := e.watching.Resource(source.resource).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", source.resource.Resource, err)
		}
		for i := range list.Items {
			if source.defines(&list.Items[i]) {
				return nil, fmt.Errorf("%s defines the type, but it is not served: %w", list.Items[i].GetName(), cause)
			}
		}
	}
	return &plan.Observed{Presence: plan.Absent, Confirmed: true, UID: a.Preconditions.UID}, nil
}

// Instances lists all objects of a managed type consistently, in every namespace; definition is the name of the custom resource
// definition that defines it, if one does. Whatever version the list is asked in, it holds the objects of all: they are stored once. That
// a type is not served does not say that it has no instances: a definition may serve no version any more, and discovery may have gaps.
// Only where the definition does not exist, or was never established, there cannot be any.
func (e *Executor) Instances(ctx context.Context, gk schema.GroupKind, definition string) ([]inspect.Instance, error) {
	list, err := e.list(ctx, gk)
	if isNotServed(err) && definition != "" {
		return nil, e.neverServed(ctx, definition, err)
	}
	if err != nil {
		return nil, err
	}
	found := make([]inspect.Instance, 0, len(list.Items))
	for i := range list.Items {
		found = append(found, inspect.InstanceOf(gk, &list.Items[i]))
	}
	return found, nil
}

func (e *Executor) list(ctx context.Context, gk schema.GroupKind) (*unstructured.UnstructuredList, error) {
	mapping, err := e.mapper.RESTMapping(gk)
	if err != nil {
		return nil, err
	}
	return e.dynamic.Resource(mapping.Resource).List(ctx, metav1.ListOptions{})
}

// neverServed returns an error unless a definition does not exist, or was never established: that condition is set before the first
// version is served, and never taken back.
func (e *Executor) neverServed(ctx context.Context, definition string, cause error) error {
	crd, err := e.watching.Resource(customResourceDefinitions).Get(ctx, definition, metav1.GetOptions{})
	switch {
	case isNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("get %s: %w", definition, err)
	case !isEstablished(crd):
		return nil
	}
	return fmt.Errorf("%s was served before, and may have instances; serve a version of it: %w", definition, cause)
}

func isEstablished(crd *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions")
	for _, c := range conditions {
		if m, ok := c.(map[string]any); ok && m["type"] == "Established" {
			return m["status"] == string(metav1.ConditionTrue)
		}
	}
	return false
}
