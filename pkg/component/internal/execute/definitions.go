package execute

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/pkg/component/internal/apierror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

var (
	customResourceDefinitions = schema.GroupVersionResource{
		Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
	}
	apiServices = schema.GroupVersionResource{
		Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices",
	}
)

// confirmUndefined checks whether an object still exists, after a read failed because the API server does not serve its
// type. The object is absent only if no CustomResourceDefinition or APIService defines the type. Otherwise the object
// may still be stored, for example because its definition is not established. The argument cause is the error of the
// read. If cause has another reason than an unserved type, confirmUndefined returns cause unchanged.
func (c *clients) confirmUndefined(ctx context.Context, a plan.Action, cause error) (*plan.Observed, error) {
	if !apierror.IsNotServed(cause) {
		return nil, cause
	}
	for _, source := range []struct {
		resource schema.GroupVersionResource
		defines  func(plan.Action, *unstructured.Unstructured) bool
	}{{customResourceDefinitions, definesCustomResource}, {apiServices, definesAggregated}} {
		list, err := c.operator.Resource(source.resource).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", source.resource.Resource, err)
		}
		for i := range list.Items {
			if source.defines(a, &list.Items[i]) {
				return nil, fmt.Errorf("%s defines the type, but it is not served: %w", list.Items[i].GetName(), cause)
			}
		}
	}
	return &plan.Observed{Presence: plan.Absent, Confirmed: true, UID: a.Preconditions.UID}, nil
}

// definesCustomResource reports whether a CustomResourceDefinition defines the type of an action. A definition with
// another scope than the object is ignored, because such a definition was created after the object was deleted with the
// previous definition.
func definesCustomResource(a plan.Action, crd *unstructured.Unstructured) bool {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	scope, _, _ := unstructured.NestedString(crd.Object, "spec", "scope")
	otherScope := scope == "Cluster" && a.Key.Namespace != "" || scope == "Namespaced" && a.Key.Namespace == ""
	return group == a.Key.Group && kind == a.Key.Kind && !otherScope
}

// definesAggregated reports whether an APIService delegates the API group of an action to another API server.
func definesAggregated(a plan.Action, service *unstructured.Unstructured) bool {
	group, _, _ := unstructured.NestedString(service.Object, "spec", "group")
	_, aggregated, _ := unstructured.NestedMap(service.Object, "spec", "service")
	return aggregated && group == a.Key.Group
}

// Definition contains the recorded facts about a CustomResourceDefinition or an APIService. The zero value means that
// there is no definition.
type Definition struct {
	// Name is the name of the object.
	Name string
	// Unserved is the last observed state in which the object served no version of its types; see inspect.Unserved.
	Unserved string
}

// instances lists all objects of a type. A list in one version contains the objects of all versions. A type that is not
// served may still have stored instances, because its definition may have served a version before, and because
// discovery may be incomplete. So the result is an empty list only if the definition never served a version.
func (c *clients) instances(
	ctx context.Context, gk schema.GroupKind, definition Definition,
) ([]inspect.Instance, error) {
	list, err := c.list(ctx, gk)
	if apierror.IsNotServed(err) && definition.Name != "" {
		return nil, c.confirmNeverServed(ctx, definition, err)
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

// confirmNeverServed returns an error unless a definition does not exist, was never established, or is stored as one
// that never served a version. The condition Established is set before the first version is served, and is never unset.
func (c *clients) confirmNeverServed(ctx context.Context, definition Definition, cause error) error {
	crd, err := c.operator.Resource(customResourceDefinitions).Get(ctx, definition.Name, metav1.GetOptions{})
	switch {
	case apierror.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("get %s: %w", definition.Name, err)
	case !isEstablished(crd), neverServed(crd, definition):
		return nil
	case inspect.Unserved(crd) != "":
		return &UnservedError{fmt.Errorf("%s serves no version, but may have served a version before, so instances may "+
			"exist; serve a version of it: %w", definition.Name, cause)}
	}
	return &UnservedError{fmt.Errorf("%s has served a version before, so instances may exist; serve a version of it: %w",
		definition.Name, cause)}
}

// UnservedError is the error for a type that is not served, so that only a person can say whether its instances may be
// lost.
type UnservedError struct{ error }

// Unwrap returns the error that it wraps.
func (e *UnservedError) Unwrap() error { return e.error }

// neverServed reports whether a live definition serves no version and never served a version. neverServed compares the
// live state with the recorded state.
func neverServed(live *unstructured.Unstructured, recorded Definition) bool {
	definition := live.GroupVersionKind().GroupKind() == plan.CustomResourceDefinition
	return plan.NeverServed(recorded.Unserved, inspect.Unserved(live), definition, live.GetUID())
}

// neverAvailable reports whether an APIService was created for the component and was never Available, according to its
// record, and is still in the recorded state. The result is false if the APIService does not exist.
func (c *clients) neverAvailable(ctx context.Context, recorded Definition) (bool, error) {
	if recorded.Unserved == "" {
		return false, nil
	}
	service, err := c.operator.Resource(apiServices).Get(ctx, recorded.Name, metav1.GetOptions{})
	if apierror.IsNotFound(err) {
		return false, nil
	}
	return err == nil && neverServed(service, recorded), err
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
