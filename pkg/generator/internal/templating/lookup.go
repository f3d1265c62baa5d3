package templating

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/pkg/generator"
)

// errNoCluster is returned for look-ups in an offline rendering.
var errNoCluster = errors.New("there is no cluster to read from")

// cluster reads objects for the current rendering, from the target cluster or from the cluster of the component.
type cluster struct {
	in *Input
	of func(generator.Request) generator.Lookup
	// asHelm adds the marks of Helm to the component's own dependents; see markAsHelm.
	asHelm bool
}

// targetOf returns the cluster of the dependents.
func targetOf(in *Input) cluster {
	return cluster{in: in, of: func(req generator.Request) generator.Lookup { return req.Target }}
}

// lookup returns an object, or a list of all objects if name is empty, like Helm. For a missing object it returns an
// empty map. If the kind is not served, lookup returns an empty map too, because this rendering may contain the
// definition of the kind.
func (c cluster) lookup(apiVersion, kind, namespace, name string) (map[string]any, error) {
	content, err := c.read(apiVersion, kind, namespace, name)
	if isMissing(err) {
		return map[string]any{}, nil
	}
	return content, err
}

// mustLookup returns an object, or an error if the object does not exist.
func (c cluster) mustLookup(apiVersion, kind, namespace, name string) (map[string]any, error) {
	if name == "" {
		return nil, fmt.Errorf("%s: no name: use lookupList for lists", kind)
	}
	return c.read(apiVersion, kind, namespace, name)
}

// lookupList returns the objects whose labels match a selector, sorted by namespace and name.
func (c cluster) lookupList(apiVersion, kind, namespace, labelSelector string) ([]any, error) {
	selector, err := labels.Parse(labelSelector)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", kind, err)
	}
	content, err := c.read(apiVersion, kind, namespace, "")
	if err != nil && !isMissing(err) {
		return nil, err
	}
	items, _ := content["items"].([]any)
	var objects []*unstructured.Unstructured
	for _, item := range items {
		fields, _ := item.(map[string]any)
		object := &unstructured.Unstructured{Object: fields}
		if selector.Matches(labels.Set(object.GetLabels())) {
			objects = append(objects, object)
		}
	}
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	found := make([]any, 0, len(objects))
	for _, object := range objects {
		found = append(found, object.Object)
	}
	return found, nil
}

func isMissing(err error) bool {
	return apierrors.IsNotFound(err) || meta.IsNoMatchError(err) || errors.Is(err, errNoCluster)
}

// read returns a copy of an object or a list, because templates can change it.
func (c cluster) read(apiVersion, kind, namespace, name string) (map[string]any, error) {
	budget := c.in.Budget
	if err := budget.ctx.Err(); err != nil {
		return nil, err
	}
	gvk := schema.FromAPIVersionAndKind(apiVersion, kind)
	wrapped := func(err error) error { return fmt.Errorf("%s %s: %w", gvk.GroupKind(), name, err) }
	lookup := c.of(c.in.Request)
	if lookup == nil {
		return nil, wrapped(errNoCluster)
	}
	if name == "" {
		list, err := lookup.List(budget.ctx, gvk, namespace)
		if err != nil {
			return nil, wrapped(err)
		}
		list = list.DeepCopy()
		for i := range list.Items {
			c.markAsHelm(&list.Items[i])
		}
		return list.UnstructuredContent(), nil
	}
	object, err := lookup.Get(budget.ctx, gvk, namespace, name)
	if err != nil {
		return nil, wrapped(err)
	}
	object = object.DeepCopy()
	c.markAsHelm(object)
	return object.UnstructuredContent(), nil
}

// markAsHelm adds the label and the annotations to an object that Helm adds to the objects of a release, if the object
// is a dependent of the component. Charts read them to render an object only if it does not exist, or if it belongs to
// their release. An object that the component released gets them too, because Helm leaves them on an object that it
// keeps.
func (c cluster) markAsHelm(object *unstructured.Unstructured) {
	req := c.in.Request
	if !c.asHelm || req.Owns == nil || !req.Owns(object) {
		return
	}
	labels := object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels["app.kubernetes.io/managed-by"] = "Helm"
	object.SetLabels(labels)
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations["meta.helm.sh/release-name"], annotations["meta.helm.sh/release-namespace"] = req.Name, req.Namespace
	object.SetAnnotations(annotations)
}
