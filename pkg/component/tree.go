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
	"github.com/fairlead-io/fairlead/internal/logging"
	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/ready"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// treeReaders is the maximum number of concurrent reads for a tree.
const treeReaders = 16

// Node describes one dependent of a component: its place in the apply order and its live state.
type Node struct {
	Key manifests.Key
	// Version is the API version in which the dependent is applied. Version is empty if the dependent is not in the
	// inventory.
	Version string
	// Wave is the apply order of the dependent, and Stage the step within the wave.
	Wave  int
	Stage manifests.Stage
	// DependsOn are the objects and groups that the dependent depends on, in the form of the annotation depends-on. If
	// there are any, the dependent belongs to no wave.
	DependsOn []string
	// Observed is set if the component only reads the object, by the reconcile policy observe.
	Observed bool
	// Ignored are the fields that are left to others, by the rules with which the object was applied last.
	Ignored []IgnoredField
	// UID is the UID of the live object. UID is empty if the object does not exist or could not be read. The UID of an
	// external is its recorded token.
	UID   types.UID
	State NodeState
	// Reason is a CamelCase word that refines the states Missing and Unknown. Message explains a state other than
	// Ready. Reason and Message contain no data of Secrets.
	Reason, Message string
}

// NodeState is the readiness of a dependent, or the reason why its readiness is not known.
type NodeState string

// The states of a node. The first four are the readiness of the live object.
const (
	NodeReady       NodeState = "Ready"
	NodeInProgress  NodeState = "InProgress"
	NodeFailed      NodeState = "Failed"
	NodeTerminating NodeState = "Terminating"
	// NodeNotUpdated: the object is ready, but the last write to it failed, so it is not in the desired state; see
	// AddFailures.
	NodeNotUpdated NodeState = "NotUpdated"
	// NodeCompleted: the object, such as a Job, completed its work and was deleted afterwards. The object is not
	// created again.
	NodeCompleted NodeState = "Completed"
	// NodeMissing: the object in the inventory does not exist in the cluster.
	NodeMissing NodeState = "Missing"
	// NodeUnknown: the object could not be read, or its readiness cannot be determined.
	NodeUnknown NodeState = "Unknown"
)

// The reasons of nodes that are Missing or Unknown.
const (
	// NodeNotFound: no object with the name of the dependent exists.
	NodeNotFound = "NotFound"
	// NodeNotCreated: no object with the name of the dependent exists, because it has not been created yet.
	NodeNotCreated = "NotCreated"
	// NodeReplaced: an object with the name of the dependent exists, but its UID differs from the recorded UID.
	NodeReplaced = "Replaced"
	// NodeNotRecorded: an object with the name of the dependent exists, but the inventory records no write to it. The
	// object may not belong to the component.
	NodeNotRecorded = "NotRecorded"
	// NodeForbidden: the caller has no permission to read the object.
	NodeForbidden = "Forbidden"
	// NodeNotServed: the API server does not serve the kind of the object.
	NodeNotServed = string(plan.WaitNotServed)
	// NodeNotAsked: the dependent is outside Kubernetes, where only the operator asks; see AddExternals.
	NodeNotAsked = "NotAsked"
	// NodeNotRead: the object could not be read, for a reason not listed above.
	NodeNotRead = "NotRead"
)

// TreeReader reads live objects. Every client.Reader is a TreeReader. A TreeReader must support Unstructured and
// PartialObjectMetadata.
type TreeReader interface {
	Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error
}

// Tree returns a node for each entry of an inventory, ordered by wave, stage, kind, namespace and name. Tree reads each
// object once, with a limited number of concurrent requests. It does not ask externals. If an object cannot be read,
// its node has the state Missing or Unknown and the reason. Tree returns an error only if the context ends.
func Tree(ctx context.Context, reader TreeReader, inventory []metav1alpha1.InventoryEntry) ([]Node, error) {
	ctx = logging.Context(ctx)
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

// AddUnrecorded adds nodes for dependents that are not in the inventory because the API server does not serve their
// kind. The inventory cannot record them, because it is not known whether the kind is namespaced. waiting is the list
// of waiting dependents in the component's status, which is shortened if there are many.
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

// AddFailures returns the nodes with the failures of the last writes, so that no dependent with a failure is Ready.
// waiting is the list of waiting dependents in the component's status. A node that is Ready becomes NotUpdated, with
// the reason and the message of the failure. A node in another state keeps its state, and gets the failure as well. A
// node that is held up by a dependency, a condition or an exported value keeps its state, and gets the message about
// it. So does a node that is being deleted, because the operator finds out what holds it.
func AddFailures(nodes []Node, waiting []metav1alpha1.DependentReport) []Node {
	failures, held := map[string]metav1alpha1.DependentReport{}, map[string]metav1alpha1.DependentReport{}
	for _, w := range waiting {
		switch reason := plan.WaitReason(w.Reason); {
		case IsHoldUp(w), reason == plan.WaitTimeout, reason == plan.WaitNotGone, reason == plan.WaitTerminating:
			held[w.Dependent] = w
		}
		if plan.WaitReason(w.Reason).IsRefusal() {
			failures[w.Dependent] = w
		}
	}
	all := slices.Clone(nodes)
	for i := range all {
		n := &all[i]
		if w, isHeld := held[n.Key.String()]; isHeld {
			n.addHoldUp(w)
			continue
		}
		failure, failed := failures[n.Key.String()]
		if !failed {
			continue
		}
		switch n.State {
		case NodeReady:
			n.State, n.Reason, n.Message = NodeNotUpdated, failure.Reason, failure.Message
		case NodeInProgress, NodeFailed:
			n.Reason, n.Message = failure.Reason, "not updated: "+failure.Message+"; "+n.Message
		case NodeNotUpdated, NodeTerminating, NodeCompleted, NodeMissing, NodeUnknown:
		}
	}
	return all
}

// addHoldUp adds the report on a node that is held up: the object does not exist yet, or is not updated.
func (n *Node) addHoldUp(w metav1alpha1.DependentReport) {
	switch {
	case n.State == NodeMissing && n.Reason == NodeNotCreated:
		n.Reason, n.Message = w.Reason, w.Message
	case n.State == NodeReady && IsHoldUp(w):
		n.Reason, n.Message = w.Reason, "not updated yet: "+w.Message
	case n.State == NodeTerminating && w.Message != "":
		n.Message = w.Message
	}
}

func compareNodes(a, b Node) int {
	return cmp.Or(
		cmp.Compare(a.Wave, b.Wave),
		cmp.Compare(a.Stage, b.Stage),
		cmp.Compare(a.Key.Kind, b.Key.Kind),
		a.Key.Compare(b.Key),
	)
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

func readNode(ctx context.Context, reader TreeReader, entry metav1alpha1.InventoryEntry) Node {
	node := Node{
		Key:     manifests.Key{Group: entry.Group, Kind: entry.Kind, Namespace: entry.Namespace, Name: entry.Name},
		Version: entry.Version, Wave: entry.Order, DependsOn: dependenciesOf(entry),
	}
	if entry.External {
		node.UID = entry.UID
		node.State, node.Reason, node.Message = NodeUnknown, NodeNotAsked, unaskedExternal(entry)
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
		node.State, node.Reason = NodeUnknown, NodeNotRecorded
		node.Message = "an object with this name exists, but no write to this object is recorded yet"
	case entry.UID != obj.GetUID():
		node.State, node.Reason = NodeMissing, NodeReplaced
		node.Message = fmt.Sprintf("the recorded object (UID %s) is gone; another object (UID %s) has its name now",
			entry.UID, obj.GetUID())
	default:
		node.State, node.Message = readiness(ctx, obj)
		node.Ignored = IgnoredFields(obj)
	}
	return node
}

// IgnoredFields returns the fields of a live dependent that are left to others. The rules of all sources are in its
// annotations. An annotation that another client wrote is no rule.
func IgnoredFields(obj client.Object) []IgnoredField {
	gk := obj.GetObjectKind().GroupVersionKind().GroupKind()
	key := manifests.Key{Group: gk.Group, Kind: gk.Kind, Namespace: obj.GetNamespace(), Name: obj.GetName()}
	var ignored []IgnoredField
	for _, i := range inspect.Ignored(obj, reconcilerOf(obj)) {
		ignored = append(ignored, IgnoredField{Key: key, Path: i.Path.String(), Source: i.Source})
	}
	return ignored
}

// unaskedExternal returns the message about an external, as far as the inventory tells.
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
	parsed, err := manifests.ParseDependencies(entry.DependsOn)
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
func readiness(ctx context.Context, obj client.Object) (NodeState, string) {
	view := inspect.View{Reconciler: reconcilerOf(obj)}
	var r ready.Result
	if whole, ok := obj.(*unstructured.Unstructured); ok {
		r = view.Readiness(ctx, whole)
	} else {
		r = inspect.Metadata(obj, view.Reconciler).Readiness
	}
	switch r.State {
	case ready.Ready:
		return NodeReady, ""
	case ready.InProgress:
		return NodeInProgress, r.Message
	case ready.Failed:
		return NodeFailed, r.Message
	case ready.Terminating:
		return NodeTerminating, r.Message
	case ready.Unread:
		return NodeUnknown, "its condition is evaluated by its operator only, because its content is not read here"
	case ready.Unknown:
	}
	return NodeUnknown, r.Message
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
// the API server does not serve the path of the kind. This response does not mean that the object is gone.
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
