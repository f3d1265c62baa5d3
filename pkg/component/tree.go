package component

import (
	"cmp"
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
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/ready"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// treeReaders bounds the reads of a tree that are under way at a time.
const treeReaders = 16

// Node is a dependent in a tree.
type Node struct {
	Key manifests.Key
	// Version of the API that it is applied in; empty where the inventory does not record the dependent.
	Version string
	// Wave is the apply order, and Stage the step inside it.
	Wave  int
	Stage manifests.Stage
	// UID of the live object; empty where there is none, or it could not be read.
	UID   types.UID
	State NodeState
	// Reason is a CamelCase word where the state alone does not tell; Message explains a state that is not Ready. They
	// hold no data of Secrets.
	Reason, Message string
}

// NodeState is the readiness of a dependent, or why there is none.
type NodeState string

// The states of a node. The first four are those of the object itself.
const (
	NodeReady       NodeState = "Ready"
	NodeInProgress  NodeState = "InProgress"
	NodeFailed      NodeState = "Failed"
	NodeTerminating NodeState = "Terminating"
	// NodeCompleted: the object did its work, and is gone; it is not missed.
	NodeCompleted NodeState = "Completed"
	// NodeMissing: the recorded object does not exist.
	NodeMissing NodeState = "Missing"
	// NodeUnknown: it is not known whether the object exists, or whether it is ready.
	NodeUnknown NodeState = "Unknown"
)

// The reasons of nodes that are Missing or Unknown.
const (
	// NodeNotFound: there is no object of that name.
	NodeNotFound = "NotFound"
	// NodeNotCreated: there is no object of that name, and none was created yet.
	NodeNotCreated = "NotCreated"
	// NodeReplaced: the name belongs to another object than the recorded one.
	NodeReplaced = "Replaced"
	// NodeNotRecorded: an object of that name exists, but no write to it is recorded, so that it may be somebody
	// else's.
	NodeNotRecorded = "NotRecorded"
	// NodeForbidden: the reader may not read the object.
	NodeForbidden = "Forbidden"
	// NodeNotServed: the API server does not serve the kind.
	NodeNotServed = string(plan.WaitNotServed)
	// NodeNotRead: the read failed for another reason.
	NodeNotRead = "NotRead"
)

// TreeReader reads live objects; any client.Reader does. Objects come as unstructured or as PartialObjectMetadata.
type TreeReader interface {
	Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error
}

// Tree returns a node for each entry of an inventory, ordered by wave, stage, kind, namespace and name. It reads each
// object once, a few at a time. An object that cannot be read is a node that says so; the only error is that of the
// context.
func Tree(ctx context.Context, reader TreeReader, inventory []metav1alpha1.InventoryEntry) ([]Node, error) {
	managed := managedTypesOf(inventory)
	nodes := make([]Node, len(inventory))
	var reads errgroup.Group
	reads.SetLimit(treeReaders)
	for i, entry := range inventory {
		reads.Go(func() error {
			nodes[i] = readNode(ctx, reader, entry)
			nodes[i].Stage = manifests.StageOf(nodes[i].Key.GroupKind(), managed)
			return ctx.Err()
		})
	}
	if err := reads.Wait(); err != nil {
		return nil, err
	}
	slices.SortFunc(nodes, compareNodes)
	return nodes, nil
}

// AddUnrecorded adds to the nodes of a tree those that a component waits for, and that no inventory can record: the API
// server does not serve their kind, so that nobody knows whether they have a namespace. A status names the first of
// them.
func AddUnrecorded(nodes []Node, waiting []metav1alpha1.DependentReport) []Node {
	recorded := make(map[manifests.Key]bool, len(nodes))
	for _, n := range nodes {
		recorded[n.Key] = true
	}
	all := slices.Clone(nodes)
	for _, w := range waiting {
		key, ok := manifests.ParseKey(w.Dependent)
		if !ok || recorded[key] || w.Reason != NodeNotServed {
			continue
		}
		all = append(all, Node{
			Key:     key,
			Wave:    int(w.Wave),
			Stage:   manifests.StageOf(key.GroupKind(), nil),
			State:   NodeUnknown,
			Reason:  NodeNotServed,
			Message: w.Message,
		})
	}
	slices.SortFunc(all, compareNodes)
	return all
}

func compareNodes(a, b Node) int {
	return cmp.Or(
		cmp.Compare(a.Wave, b.Wave),
		cmp.Compare(a.Stage, b.Stage),
		cmp.Compare(a.Key.Kind, b.Key.Kind),
		a.Key.Compare(b.Key),
	)
}

// managedTypesOf returns the types that the dependents define. A type that a newer version wrote in another form is
// left out: only the order of nodes depends on it.
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

func readNode(ctx context.Context, reader TreeReader, entry metav1alpha1.InventoryEntry) Node {
	node := Node{
		Key:     manifests.Key{Group: entry.Group, Kind: entry.Kind, Namespace: entry.Namespace, Name: entry.Name},
		Version: entry.Version, Wave: entry.Order,
	}
	obj := blank(entry)
	if err := reader.Get(ctx, client.ObjectKey{Namespace: entry.Namespace, Name: entry.Name}, obj); err != nil {
		node.State, node.Reason, node.Message = unread(entry, err)
		return node
	}
	node.UID = obj.GetUID()
	switch {
	case entry.UID == "":
		node.State, node.Reason = NodeUnknown, NodeNotRecorded
		node.Message = "an object of this name exists, but no write to it is recorded yet"
	case entry.UID != obj.GetUID():
		node.State, node.Reason = NodeMissing, NodeReplaced
		node.Message = fmt.Sprintf("the recorded object (UID %s) is gone; its name belongs to another one (UID %s)",
			entry.UID, obj.GetUID())
	default:
		node.State, node.Message = readiness(obj)
	}
	return node
}

// blank returns what an entry is read into. Of a Secret only metadata is read: it has no status, and its data is
// nobody's business.
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

func readiness(obj client.Object) (NodeState, string) {
	whole, ok := obj.(*unstructured.Unstructured)
	if !ok {
		if obj.GetDeletionTimestamp() != nil {
			return NodeTerminating, "it is being deleted"
		}
		return NodeReady, ""
	}
	r := ready.Of(whole, hintsOf(whole))
	switch r.State {
	case ready.Ready:
		return NodeReady, ""
	case ready.InProgress:
		return NodeInProgress, r.Message
	case ready.Failed:
		return NodeFailed, r.Message
	case ready.Terminating:
		return NodeTerminating, r.Message
	case ready.Unknown:
		return NodeUnknown, r.Message
	}
	return NodeUnknown, r.Message
}

// hintsOf reads the status hints that the reconciler of an object's owner left on it.
func hintsOf(obj client.Object) ready.Hints {
	for label := range obj.GetLabels() {
		if reconciler, ok := strings.CutSuffix(label, "/"+manifests.LabelOwnerID); ok {
			return inspect.Hints(obj, reconciler)
		}
	}
	return ready.Hints{}
}

// unread explains a failed read. A 404 without a status of the API is that of a path nobody serves, so the object is
// not gone.
func unread(entry metav1alpha1.InventoryEntry, err error) (state NodeState, reason, message string) {
	noSuchPath := apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
	switch {
	case noSuchPath, meta.IsNoMatchError(err):
		gvk := schema.GroupVersionKind{Group: entry.Group, Version: entry.Version, Kind: entry.Kind}
		return NodeUnknown, NodeNotServed,
			fmt.Sprintf("the API server does not serve %s, version %s", gvk.GroupKind(), gvk.Version)
	case apierrors.IsNotFound(err) && entry.Completed:
		return NodeCompleted, "", ""
	case apierrors.IsNotFound(err) && entry.UID == "":
		return NodeMissing, NodeNotCreated, "it was not created yet"
	case apierrors.IsNotFound(err):
		return NodeMissing, NodeNotFound, "it does not exist"
	case apierrors.IsForbidden(err):
		return NodeUnknown, NodeForbidden, err.Error()
	}
	return NodeUnknown, NodeNotRead, err.Error()
}
