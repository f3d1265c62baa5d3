package tree

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/logging"
	"github.com/fairlead-io/fairlead/internal/typeset"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// AddObserved returns the nodes of a component together with a node for each object that the component only observes,
// in the order of Tree. status is the status of the component. Like Tree, AddObserved reads each of these objects once,
// and returns an error only if the context ends, or if the status cannot be parsed.
func AddObserved(ctx context.Context, reader Reader, nodes []Node, status *metav1alpha1.Status) ([]Node, error) {
	entries, err := metav1alpha1.ParseInventory(status.Observed)
	if err != nil || len(entries) == 0 {
		return nodes, err
	}
	ctx = logging.Context(ctx)
	observed := make([]Node, len(entries))
	var reads errgroup.Group
	reads.SetLimit(maxReads)
	for i, entry := range entries {
		reads.Go(func() error {
			observed[i] = readObserved(ctx, reader, entry)
			return ctx.Err()
		})
	}
	if err := reads.Wait(); err != nil {
		return nil, err
	}
	all := slices.Concat(nodes, observed)
	slices.SortFunc(all, compareNodes)
	return all, nil
}

func readObserved(ctx context.Context, reader Reader, entry metav1alpha1.InventoryEntry) Node {
	key := manifests.Key{Group: entry.Group, Kind: entry.Kind, Namespace: entry.Namespace, Name: entry.Name}
	node := Node{
		Key: key, Version: entry.Version, Wave: entry.Order, Stage: typeset.StageOf(key.GroupKind(), nil), Observed: true,
	}
	obj := blank(entry)
	if err := reader.Get(ctx, client.ObjectKey{Namespace: entry.Namespace, Name: entry.Name}, obj); err != nil {
		node.State, node.Reason, node.Message = unread(entry, err)
		if node.Reason == ReasonNotCreated {
			node.Reason, node.Message = ReasonNotFound, "it does not exist; the component only observes it"
		}
		return node
	}
	node.UID = obj.GetUID()
	node.State, node.Message = readiness(ctx, obj)
	return node
}
