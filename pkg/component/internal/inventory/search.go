package inventory

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/settingtext"
	"github.com/fairlead-io/fairlead/internal/typeset"
	"github.com/fairlead-io/fairlead/pkg/component/internal/discovery"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Searcher finds the dependents of an owner in the cluster, without the recorded inventory.
type Searcher interface {
	// Search returns the dependents of an owner, and which types and namespaces it listed. Types that cannot be listed in
	// all namespaces at once are listed in each of the given namespaces. fallback is the delete policy of objects whose
	// manifests set no delete policy. If Search returns an error, dependents may be missing in the report.
	Search(
		ctx context.Context, owner manifests.Owner, fallback metav1alpha1.DeletePolicy, namespaces []string,
	) (Report, error)
}

// LabelSearch finds the objects with the label and the annotation of an owner in a cluster, in all types that can be
// listed and deleted. If the discovery of a group fails, Search returns an error, because dependents of the group would
// be missing in the inventory, and would never be deleted.
type LabelSearch struct {
	// Discovery reads the types that are served.
	Discovery interface {
		Resources(ctx context.Context, verbs ...string) ([]discovery.Resource, error)
	}
	// Metadata and Dynamic are the clients for the search, with the identity of the component.
	Metadata metadata.Interface
	Dynamic  dynamic.Interface
	// Wrote reports whether the reconciler wrote a label of an object; nil accepts all objects.
	Wrote func(key manifests.Key, obj metav1.Object, label string) bool
}

// Search implements Searcher.
func (s LabelSearch) Search(
	ctx context.Context, owner manifests.Owner, fallback metav1alpha1.DeletePolicy, namespaces []string,
) (Report, error) {
	resources, err := s.Discovery.Resources(ctx, "list", "delete")
	if err != nil {
		return nil, err
	}
	return discovery.ForEach(resources, func(r discovery.Resource) ([]listing, error) {
		return s.searchType(ctx, owner, r, fallback, namespaces)
	})
}

// searchType finds the dependents of a type. If the type does not support lists, the report is empty. An object with
// the label and the annotation may also be a copy, which another client made. So an object that the reconciler did not
// write is reported apart.
func (s LabelSearch) searchType(
	ctx context.Context, owner manifests.Owner, r discovery.Resource, fallback metav1alpha1.DeletePolicy,
	namespaces []string,
) (Report, error) {
	listed, items, err := s.list(ctx, owner, r, namespaces)
	if apierrors.IsMethodNotSupported(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	prefix := owner.Reconciler + "/"
	for i := range items {
		item := &items[i]
		// Controllers copy labels to the objects that they create, so the label alone does not prove that the object is a
		// dependent.
		if item.Annotations[prefix+manifests.AnnotationOwnerID] != owner.String() {
			continue
		}
		entry := metav1alpha1.InventoryEntry{
			Group: r.Group, Version: r.Version, Kind: r.Kind, Namespace: item.Namespace, Name: item.Name, UID: item.UID,
			Phase: deletionPhase(item.Annotations[prefix+manifests.AnnotationPhase]),
		}
		live := metav1alpha1.DeletePolicy(item.Annotations[prefix+manifests.AnnotationDeletePolicy])
		reconcile := metav1alpha1.ReconcilePolicy(item.Annotations[prefix+manifests.AnnotationReconcilePolicy])
		entry.DeletePolicy = plan.RecordedDeletePolicy(
			plan.KeyOf(entry), live, plan.DefaultDeletePolicy(reconcile, fallback))
		entry.PrunePolicy = metav1alpha1.PrunePolicy(item.Annotations[prefix+manifests.AnnotationPrunePolicy])
		entry.DependsOn = dependsOn(item.Annotations[prefix+manifests.AnnotationDependsOn])
		entry.DependencyGroup = item.Annotations[prefix+manifests.AnnotationDependsOnGroup]
		// The search does not check whether the definition has a guard against deletion. Guarded is set for every
		// definition, because the removal of a guard that does not exist has no effect.
		entry.Guarded = plan.IsDefinition(plan.KeyOf(entry))
		if entry.Types, err = s.definedTypes(ctx, r.GroupVersionResource, item.Name); err != nil {
			return nil, err
		}
		if s.Wrote != nil && !s.Wrote(plan.KeyOf(entry), item, prefix+manifests.LabelOwnerID) {
			listed.unproven = append(listed.unproven, entry)
			continue
		}
		listed.entries = append(listed.entries, entry)
	}
	return Report{listed}, nil
}

// list lists the objects of a type with an owner's label in all namespaces. If that is forbidden, it lists them in each
// of the given namespaces where a list is allowed.
func (s LabelSearch) list(
	ctx context.Context, owner manifests.Owner, r discovery.Resource, namespaces []string,
) (listing, []metav1.PartialObjectMetadata, error) {
	listed := listing{resource: r}
	selector := metav1.ListOptions{LabelSelector: owner.Reconciler + "/" + manifests.LabelOwnerID + "=" + owner.ID()}
	list, err := s.Metadata.Resource(r.GroupVersionResource).List(ctx, selector)
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
	for _, namespace := range namespaces {
		list, err := s.Metadata.Resource(r.GroupVersionResource).Namespace(namespace).List(ctx, selector)
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

// deletionPhase returns the phase that an annotation names if it is a phase of a deletion, and otherwise an empty
// string.
func deletionPhase(annotation string) string {
	switch phase := manifests.Phase(annotation); phase {
	case manifests.PhasePreDelete, manifests.PhasePostDelete:
		return annotation
	case manifests.PhaseApply:
	}
	return ""
}

// dependsOn returns the dependencies that an annotation names, in the form of the record. It returns an empty text if
// the annotation is not valid, because somebody edited it: the object is then deleted without regard to its
// dependencies.
func dependsOn(annotation string) string {
	if annotation == "" {
		return ""
	}
	dependencies, err := settingtext.ParseDependencies(annotation)
	if err != nil {
		return ""
	}
	return settingtext.JoinDependencies(dependencies)
}

// definedTypes returns the types that a live definition defines. A deletion of the definition needs them to protect the
// instances.
func (s LabelSearch) definedTypes(ctx context.Context, gvr schema.GroupVersionResource, name string) ([]string, error) {
	if gvr.Group != "apiextensions.k8s.io" && gvr.Group != "apiregistration.k8s.io" {
		return nil, nil
	}
	obj, err := s.Dynamic.Resource(gvr).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("get %s %s: %w", gvr.GroupResource(), name, err)
	}
	var types []string
	for _, t := range typeset.DefinedBy(obj) {
		types = append(types, t.String())
	}
	return types, nil
}
