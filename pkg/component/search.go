package component

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/discovery"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// search finds all objects that carry the owner's label and annotation, of every type that can be listed and deleted, and says of each type where
// it was listed. A group that does not answer is an error: its dependents would be missing in what is taken for the whole record from then on, and
// would leak. The delete policy is that of the live manifest; where it names none only today's default is known. Where listing all namespaces at
// once is forbidden, those are searched that are named.
func (e *Engine) search(ctx context.Context, owner manifests.Owner, fallback metav1alpha1.DeletePolicy, in []string) (findings, error) {
	resources, err := e.discovery.Resources(ctx, "list", "delete")
	if err != nil {
		return nil, err
	}
	return gather(resources, func(r discovery.Resource) ([]listing, error) {
		return e.searchResource(ctx, owner, r, fallback, in)
	})
}

// searchResource finds the objects of a type.
func (e *Engine) searchResource(
	ctx context.Context, owner manifests.Owner, r discovery.Resource, fallback metav1alpha1.DeletePolicy, in []string,
) ([]listing, error) {
	listed, items, err := e.owned(ctx, owner, r, in)
	if apierrors.IsMethodNotSupported(err) {
		// There is nothing to list.
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for i := range items {
		m := &items[i]
		// The label alone does not prove it: controllers copy labels to what they create.
		if m.Annotations[e.name+"/"+manifests.AnnotationOwnerID] != owner.String() {
			continue
		}
		entry := metav1alpha1.InventoryEntry{
			Group: r.Group, Version: r.Version, Kind: r.Kind, Namespace: m.Namespace, Name: m.Name, UID: m.UID,
			Phase: phaseOf(m.Annotations[e.name+"/"+manifests.AnnotationPhase]),
		}
		live := metav1alpha1.DeletePolicy(m.Annotations[e.name+"/"+manifests.AnnotationDeletePolicy])
		entry.DeletePolicy = plan.RecordedDeletePolicy(plan.KeyOf(entry), live, fallback)
		// What was recorded of a guard is lost; it costs nothing to remove one that does not exist.
		entry.Guarded = plan.IsDefinition(plan.KeyOf(entry))
		if entry.Types, err = e.definedTypes(ctx, r.GroupVersionResource, m.Name); err != nil {
			return nil, err
		}
		listed.entries = append(listed.entries, entry)
	}
	return []listing{listed}, nil
}

// searched are the namespaces where dependents of a component may be, as far as anything still tells.
func (e *Engine) searched(component Component, recorded []metav1alpha1.InventoryEntry) []string {
	namespaces := append([]string{component.GetNamespace(), component.GetStatus().TargetNamespace, placeOf(component)}, e.observed...)
	for _, entry := range recorded {
		namespaces = append(namespaces, entry.Namespace)
	}
	slices.Sort(namespaces)
	return slices.DeleteFunc(slices.Compact(namespaces), func(namespace string) bool { return namespace == "" })
}

// placeOf is the namespace that the dependents of a component go to which name none.
func placeOf(component Component) string {
	if p, ok := component.(Placer); ok {
		namespace, _ := p.Placement()
		return namespace
	}
	return component.GetNamespace()
}

// owned lists the objects of a type with an owner's label, in all namespaces, or in those where that is allowed, and says which these are.
func (e *Engine) owned(ctx context.Context, owner manifests.Owner, r discovery.Resource, in []string) (listing, []metav1.PartialObjectMetadata, error) {
	listed := listing{resource: r}
	selector := metav1.ListOptions{LabelSelector: e.name + "/" + manifests.LabelOwnerID + "=" + owner.ID()}
	list, err := e.viewer.Metadata.Resource(r.GroupVersionResource).List(ctx, selector)
	switch {
	case err == nil:
		listed.everywhere = true
		return listed, list.Items, nil
	case !apierrors.IsForbidden(err):
		return listed, nil, fmt.Errorf("list %s: %w", r.GroupResource(), err)
	}
	listed.refused = err
	if !r.Namespaced {
		return listed, nil, nil
	}
	var found []metav1.PartialObjectMetadata
	for _, namespace := range in {
		list, err := e.viewer.Metadata.Resource(r.GroupVersionResource).Namespace(namespace).List(ctx, selector)
		switch {
		case err == nil:
			listed.namespaces = append(listed.namespaces, namespace)
			found = append(found, list.Items...)
		case !apierrors.IsForbidden(err):
			return listed, nil, fmt.Errorf("list %s in %s: %w", r.GroupResource(), namespace, err)
		}
	}
	return listed, found, nil
}

// phaseOf reads the phase that an annotation names; empty where that is none of a deletion.
func phaseOf(annotation string) string {
	switch phase := manifests.Phase(annotation); phase {
	case manifests.PhasePreDelete, manifests.PhasePostDelete:
		return annotation
	case manifests.PhaseApply:
	}
	return ""
}

// definedTypes reads what a live definition defines: it is what protects its instances.
func (e *Engine) definedTypes(ctx context.Context, gvr schema.GroupVersionResource, name string) ([]string, error) {
	if gvr.Group != "apiextensions.k8s.io" && gvr.Group != "apiregistration.k8s.io" {
		return nil, nil
	}
	obj, err := e.viewer.Dynamic.Resource(gvr).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("get %s %s: %w", gvr.GroupResource(), name, err)
	}
	var types []string
	for _, t := range manifests.ManagedTypes(obj) {
		types = append(types, t.String())
	}
	return types, nil
}
