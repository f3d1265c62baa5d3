package readers

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/pkg/component/tree"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Reader is a component that reads from another component.
type Reader struct {
	// Component is the name of the reader, such as component.fairlead.io/web.
	Component string `json:"component"`
	// Reads names what it reads, such as export url, or ConfigMap apps/settings.
	Reads []string `json:"reads"`
}

// Of returns the components of the same type in the namespace of a component that read its published exports, the
// component itself as an input, or its dependents as values, inputs, sources or accounts, or that observe its
// dependents. Dependents that the deletion releases do not count, and neither do components that are being deleted. For
// a type of another operator, only the fields of the spec that have the names of those of Component are known. Readers
// that are dependents of the component are deleted with it, and do not count.
func Of(ctx context.Context, o cluster.Object) ([]Reader, error) {
	status, err := cluster.StatusIfAny(o.Target, o.Live)
	if err != nil {
		return nil, err
	}
	inventory, err := tree.Inventory(ctx, o.Cluster, &status)
	if err != nil {
		return nil, err
	}
	read := source{gvk: o.Target.Mapping.GroupVersionKind, namespace: o.Target.Namespace, name: o.Target.Name}
	// Dependents in another cluster are not what a component of this cluster reads.
	for _, e := range inventory {
		if !e.External && status.TargetCluster == "" && !isReleased(e) {
			read.dependents = append(read.dependents, keyOf(e))
		}
	}
	var readers []Reader
	err = o.Cluster.List(ctx, o.Target.Mapping, o.Target.Namespace, func(obj *unstructured.Unstructured) error {
		itself := manifests.Key{
			Group: read.gvk.Group, Kind: read.gvk.Kind, Namespace: obj.GetNamespace(), Name: obj.GetName(),
		}
		if obj.GetDeletionTimestamp() != nil || obj.GetUID() == o.Live.GetUID() || slices.Contains(read.dependents, itself) {
			return nil
		}
		if reads := read.by(obj); len(reads) > 0 {
			target := cluster.Target{Mapping: o.Target.Mapping, Namespace: obj.GetNamespace(), Name: obj.GetName()}
			readers = append(readers, Reader{Component: target.String(), Reads: reads})
		}
		return nil
	})
	return readers, err
}

// source is a component that others may read from.
type source struct {
	gvk             schema.GroupVersionKind
	namespace, name string
	dependents      []manifests.Key
}

// isReleased reports whether the deletion of the component leaves a dependent.
func isReleased(e metav1alpha1.InventoryEntry) bool {
	return e.DeletePolicy == metav1alpha1.DeleteOrphan || e.DeletePolicy == metav1alpha1.DeleteOrphanOnDelete
}

func keyOf(e metav1alpha1.InventoryEntry) manifests.Key {
	return manifests.Key{Group: e.Group, Kind: e.Kind, Namespace: e.Namespace, Name: e.Name}
}

// by returns what another component reads, sorted and without duplicates.
func (s source) by(obj *unstructured.Unstructured) []string {
	reader := &v1alpha1.Component{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, reader); err != nil {
		return nil
	}
	var reads []string
	for _, key := range objectsOf(reader) {
		if slices.Contains(s.dependents, key) {
			reads = append(reads, key.String())
		}
	}
	for _, ref := range reader.References() {
		if ref.Kind == metav1alpha1.ComponentReference && ref.Name == s.name && reader.Namespace == s.namespace {
			reads = append(reads, "export "+ref.Export)
		}
	}
	itself := manifests.Key{Group: s.gvk.Group, Kind: s.gvk.Kind, Namespace: s.namespace, Name: s.name}
	for _, input := range reader.Spec.Inputs {
		if input.Object != nil && keyOfInput(input.Object, reader) == itself {
			reads = append(reads, "the component as input "+input.Name)
		}
	}
	slices.Sort(reads)
	return slices.Compact(reads)
}

// objectsOf returns the objects that a component reads, other than components. An input may be cluster-scoped, so it
// has two keys.
func objectsOf(reader *v1alpha1.Component) []manifests.Key {
	var keys []manifests.Key
	for _, ref := range reader.References() {
		keys = append(keys, manifests.Key{Kind: string(ref.Kind), Namespace: reader.Namespace, Name: ref.Name})
	}
	for _, input := range reader.Spec.Inputs {
		if input.Object != nil {
			key := keyOfInput(input.Object, reader)
			keys = append(keys, key, manifests.Key{Group: key.Group, Kind: key.Kind, Name: key.Name})
		}
	}
	keys = append(keys, manifests.Key{
		Kind: "ServiceAccount", Namespace: reader.Namespace, Name: reader.Spec.ServiceAccount,
	})
	if config := reader.Spec.Target; config != nil {
		keys = append(keys, manifests.Key{Kind: "Secret", Namespace: reader.Namespace, Name: config.SecretRef.Name})
	}
	// An observed object that cannot be read is not known.
	observed, _ := metav1alpha1.ParseInventory(reader.Status.Observed)
	for _, e := range observed {
		keys = append(keys, keyOf(e))
	}
	return keys
}

// keyOfInput returns the key of an object of a namespaced type that is an input.
func keyOfInput(object *v1alpha1.ObjectInput, reader *v1alpha1.Component) manifests.Key {
	gk := schema.FromAPIVersionAndKind(object.APIVersion, object.Kind).GroupKind()
	return manifests.Key{
		Group: gk.Group, Kind: gk.Kind, Namespace: cmp.Or(object.Namespace, reader.Namespace), Name: object.Name,
	}
}

// Unknown returns the warning that readers could not be found out because of an error.
func Unknown(err error) error {
	return fmt.Errorf("not checked whether other components read from this one: %w", err)
}
