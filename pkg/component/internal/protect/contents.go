package protect

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/apierror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/discovery"
	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// contents lists the objects that would be lost with a namespace. contents leaves out incidental objects, and
// dependents that are to be deleted anyway. If a type cannot be listed, contents returns a failure, because the
// namespace may hold objects of this type.
func (p *Protector) contents(ctx context.Context, f plan.Facts, namespace metav1alpha1.InventoryEntry) plan.Contents {
	resources, err := p.client.Discovery.Resources(ctx, "list", "create")
	if err != nil {
		return plan.Contents{Failure: unlisted(err)}
	}
	resources = slices.DeleteFunc(resources, func(r discovery.Resource) bool {
		return !r.Namespaced || transientTypes[r.GroupResource()]
	})
	var listed map[schema.GroupKind]bool
	if plan.IsOwnedNamespace(namespace) {
		listed = make(map[schema.GroupKind]bool, len(resources))
		for _, r := range resources {
			listed[r.GroupKind()] = true
		}
	}
	found, err := discovery.ForEach(resources, func(r discovery.Resource) ([]inspect.Instance, error) {
		return p.contentsOf(ctx, r, namespace.Name, listed)
	})
	if err != nil {
		return plan.Contents{Failure: unlisted(err)}
	}
	// Only the dependents that are to be deleted stay in the inventory here. A dependent that is desired, or orphaned
	// by its policy, must not be deleted with the namespace. So it is listed like an object of another owner.
	f.Inventory = going(f)
	rest := foreign(f, found)
	return plan.Contents{Count: rest.Count, Keys: rest.Keys}
}

// contentsOf lists the objects of one type that would be lost with a namespace; see isIncidental. It sets no limit, but
// reads all pages, because the server of an aggregated API may limit its lists itself.
func (p *Protector) contentsOf(
	ctx context.Context, r discovery.Resource, namespace string, listed map[schema.GroupKind]bool,
) ([]inspect.Instance, error) {
	resource := p.client.Reader.Metadata.Resource(r.GroupVersionResource).Namespace(namespace)
	var instances []inspect.Instance
	for options := (metav1.ListOptions{}); ; {
		list, err := resource.List(ctx, options)
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", r.GroupResource(), err)
		}
		for i := range list.Items {
			if !p.isIncidental(r, &list.Items[i], listed) {
				instances = append(instances, inspect.InstanceOf(r.GroupKind(), &list.Items[i]))
			}
		}
		switch list.Continue {
		case "":
			return instances, nil
		case options.Continue:
			return nil, fmt.Errorf("list %s: the API server returns the same page again", r.GroupResource())
		}
		options.Continue = list.Continue
	}
}

// unlisted returns the failure for a namespace whose contents cannot be listed.
func unlisted(err error) *plan.Failure {
	failure := apierror.Classify(err)
	failure.Message = "the objects that would be deleted with the namespace could not be listed: " + failure.Message
	if failure.Class == plan.Terminal {
		failure.Message += "; grant the right to list all types in the namespace; if you delete the namespace yourself, " +
			plan.LossOf(manifests.Key{Kind: "Namespace"})
	}
	return failure
}

// transientTypes are types whose objects Kubernetes derives from other objects, so that their loss is harmless.
var transientTypes = map[schema.GroupResource]bool{
	{Resource: "events"}:                                    true,
	{Resource: "endpoints"}:                                 true,
	{Group: "events.k8s.io", Resource: "events"}:            true,
	{Group: "discovery.k8s.io", Resource: "endpointslices"}: true,
	{Group: "coordination.k8s.io", Resource: "leases"}:      true,
}

// isIncidental reports whether an object may be lost with its namespace. An object may be lost if it is being deleted,
// has a controller in its owner references, or is of a sort that a controller creates in every namespace. For an owned
// namespace, listed contains the types that are listed; otherwise it is nil. The controller of an object in an owned
// namespace must have one of these types, so that the list contains the controller itself. An object there whose
// deletion is to leave its own objects is not incidental, because these still refer to it.
func (p *Protector) isIncidental(
	r discovery.Resource, m *metav1.PartialObjectMetadata, listed map[schema.GroupKind]bool,
) bool {
	owned := listed != nil
	if m.DeletionTimestamp != nil {
		return !owned || !slices.Contains(m.Finalizers, metav1.FinalizerOrphanDependents)
	}
	controller := metav1.GetControllerOfNoCopy(m)
	if controller != nil && (!owned || listed[kindOf(controller)]) {
		return true
	}
	_, token := m.Annotations["kubernetes.io/service-account.name"]
	if token && r.GroupKind() == (schema.GroupKind{Kind: "Secret"}) {
		return true
	}
	return slices.ContainsFunc(p.incidental, func(i Incidental) bool { return i.matches(r.GroupKind(), m) })
}

func kindOf(controller *metav1.OwnerReference) schema.GroupKind {
	return schema.FromAPIVersionAndKind(controller.APIVersion, controller.Kind).GroupKind()
}
