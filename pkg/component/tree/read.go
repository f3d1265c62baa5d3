package tree

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/logging"
	"github.com/fairlead-io/fairlead/internal/settingtext"
	"github.com/fairlead-io/fairlead/internal/typeset"
	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
	"github.com/fairlead-io/fairlead/pkg/component/internal/ready"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// maxReads is the maximum number of concurrent reads for a tree.
const maxReads = 16

// Reader reads live objects. Every client.Reader is a Reader. A Reader must support Unstructured and
// PartialObjectMetadata.
type Reader interface {
	Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error
}

// Read returns a node for each entry of an inventory, ordered by wave, stage, kind, namespace and name. Read reads each
// object once, with a limited number of concurrent requests. It does not ask externals. If an object cannot be read,
// its node has the state Missing or Unknown and the reason. Read returns an error only if the context ends.
func Read(ctx context.Context, reader Reader, inventory []metav1alpha1.InventoryEntry) ([]Node, error) {
	ctx = logging.Context(ctx)
	managed := managedTypesOf(inventory)
	nodes := make([]Node, len(inventory))
	var reads errgroup.Group
	reads.SetLimit(maxReads)
	for i, entry := range inventory {
		reads.Go(func() error {
			nodes[i] = readNode(ctx, reader, entry)
			nodes[i].Stage = typeset.StageOf(nodes[i].Key.GroupKind(), managed)
			return ctx.Err()
		})
	}
	if err := reads.Wait(); err != nil {
		return nil, err
	}
	slices.SortFunc(nodes, compareNodes)
	return nodes, nil
}

// managedTypesOf returns the types that the dependents define, such as the kinds of their CustomResourceDefinitions.
// Types that cannot be parsed, for example because a newer version wrote them, are skipped. The types only affect the
// order of the nodes.
func managedTypesOf(inventory []metav1alpha1.InventoryEntry) []manifests.ManagedType {
	var managed []manifests.ManagedType
	for _, entry := range inventory {
		for _, text := range entry.Types {
			if m, err := manifests.ParseManagedType(text); err == nil {
				managed = append(managed, m)
			}
		}
	}
	return managed
}

func readNode(ctx context.Context, reader Reader, entry metav1alpha1.InventoryEntry) Node {
	node := Node{
		Key:     manifests.Key{Group: entry.Group, Kind: entry.Kind, Namespace: entry.Namespace, Name: entry.Name},
		Version: entry.Version, Wave: entry.Order, DependsOn: dependenciesOf(entry),
	}
	if entry.External {
		node.UID = entry.UID
		node.State, node.Reason, node.Message = result.NodeUnknown, ReasonNotAsked, unaskedExternal(entry)
		return node
	}
	obj := blank(entry)
	if err := reader.Get(ctx, client.ObjectKey{Namespace: entry.Namespace, Name: entry.Name}, obj); err != nil {
		node.State, node.Reason, node.Message = unread(entry, err)
		return node
	}
	node.UID = obj.GetUID()
	switch {
	case entry.UID == "":
		node.State, node.Reason = result.NodeUnknown, ReasonNotRecorded
		node.Message = "an object with this name exists, but the inventory shows no write to it yet"
	case entry.UID != obj.GetUID():
		node.State, node.Reason = result.NodeMissing, ReasonReplaced
		node.Message = fmt.Sprintf("the recorded object (UID %s) no longer exists; another object (UID %s) has its name now",
			entry.UID, obj.GetUID())
	default:
		node.State, node.Message = readiness(ctx, obj)
		node.Ignored = IgnoredFields(obj)
	}
	return node
}

// IgnoredFields returns the fields of a live dependent that are left to others. The rules of all sources are in its
// annotations. An annotation that another client wrote is no rule.
func IgnoredFields(obj client.Object) []result.IgnoredField {
	gk := obj.GetObjectKind().GroupVersionKind().GroupKind()
	key := manifests.Key{Group: gk.Group, Kind: gk.Kind, Namespace: obj.GetNamespace(), Name: obj.GetName()}
	var ignored []result.IgnoredField
	for _, i := range inspect.Ignored(obj, reconcilerOf(obj)) {
		ignored = append(ignored, result.IgnoredField{Key: key, Path: i.Path.String(), Source: i.Source})
	}
	return ignored
}

// unaskedExternal returns the message for an external, which only the operator can observe: what the inventory says.
func unaskedExternal(entry metav1alpha1.InventoryEntry) string {
	if entry.UID == "" {
		return "it is outside Kubernetes; it was not created yet, or the result is not known"
	}
	return "it is outside Kubernetes, and only the operator asks there"
}

// dependenciesOf returns the recorded dependencies of an entry.
func dependenciesOf(entry metav1alpha1.InventoryEntry) []string {
	if entry.DependsOn == "" {
		return nil
	}
	parsed, err := settingtext.ParseDependencies(entry.DependsOn)
	if err != nil {
		return []string{entry.DependsOn}
	}
	texts := make([]string, 0, len(parsed))
	for _, d := range parsed {
		texts = append(texts, d.String())
	}
	return texts
}

// blank returns an empty object for the response of a read of an inventory entry. For a Secret only the metadata is
// read, because a Secret has no status and its data is not needed.
func blank(entry metav1alpha1.InventoryEntry) client.Object {
	gvk := schema.GroupVersionKind{Group: entry.Group, Version: entry.Version, Kind: entry.Kind}
	if gvk.GroupKind() == (schema.GroupKind{Kind: "Secret"}) {
		obj := &metav1.PartialObjectMetadata{}
		obj.SetGroupVersionKind(gvk)
		return obj
	}
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(gvk)
	return obj
}

// readiness returns the state of a live object. The conditions and analyzers that are written in Go exist only in the
// operator.
func readiness(ctx context.Context, obj client.Object) (result.NodeState, string) {
	view := inspect.View{Reconciler: reconcilerOf(obj)}
	var r ready.Result
	if whole, ok := obj.(*unstructured.Unstructured); ok {
		r = view.Readiness(ctx, whole)
	} else {
		r = inspect.Metadata(obj, view.Reconciler).Readiness
	}
	switch r.State {
	case ready.Ready:
		return result.NodeReady, ""
	case ready.InProgress:
		return result.NodeInProgress, r.Message
	case ready.Failed:
		return result.NodeFailed, r.Message
	case ready.Terminating:
		return result.NodeTerminating, r.Message
	case ready.Unread:
		return result.NodeUnknown, "its condition is evaluated by its operator only, because its content is not read here"
	case ready.Unknown:
	}
	return result.NodeUnknown, r.Message
}

// reconcilerOf returns the name of the reconciler of an object, which is the prefix of the owner-id label.
func reconcilerOf(obj client.Object) string {
	for label := range obj.GetLabels() {
		if reconciler, ok := strings.CutSuffix(label, "/"+manifests.LabelOwnerID); ok {
			return reconciler
		}
	}
	return ""
}

// unread returns the node state for a failed read. A response 404 with the cause UnexpectedServerResponse means that
// the API server does not serve the path of the kind. This response does not mean that the object does not exist.
func unread(entry metav1alpha1.InventoryEntry, err error) (state result.NodeState, reason, message string) {
	noSuchPath := apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
	switch {
	case noSuchPath, meta.IsNoMatchError(err):
		gvk := schema.GroupVersionKind{Group: entry.Group, Version: entry.Version, Kind: entry.Kind}
		return result.NodeUnknown, ReasonNotServed,
			fmt.Sprintf("the API server does not serve %s, version %s", gvk.GroupKind(), gvk.Version)
	case apierrors.IsNotFound(err) && entry.Completed:
		return result.NodeCompleted, "", ""
	case apierrors.IsNotFound(err) && entry.UID == "":
		return result.NodeMissing, ReasonNotCreated, "it was not created yet"
	case apierrors.IsNotFound(err):
		return result.NodeMissing, ReasonNotFound, "it does not exist"
	case apierrors.IsForbidden(err):
		return result.NodeUnknown, ReasonForbidden, err.Error()
	}
	return result.NodeUnknown, ReasonNotRead, err.Error()
}
