package apply

import (
	"context"
	"fmt"
	"slices"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/changepreview"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/internal/operator"
	"github.com/fairlead-io/fairlead/internal/plural"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// leftBehind returns warnings about the objects that a component owned in other clusters and that its source does not
// have any more. No record of this cluster contains them, so the component neither prunes nor deletes them. found is
// the plan of the apply that takes over the other objects.
func leftBehind(
	ctx context.Context, f cluster.Object, clusters []string, found changepreview.Findings,
) (warnings []error) {
	planned := map[string]bool{}
	for _, s := range slices.Concat(found.Listed, found.Adoptions) {
		planned[s.Key.String()] = true
	}
	for _, w := range slices.Concat(found.AtDeletion, found.Refused, found.Unserved) {
		planned[w.Dependent] = true
	}
	var left []string
	for _, uid := range clusters {
		keys, err := f.Cluster.MarkedBy(ctx, ownerIn(uid, f.Target))
		if err != nil {
			warnings = append(warnings,
				fmt.Errorf("it is not known which objects of the previous cluster the source does not contain any more: %w",
					err))
		}
		for _, key := range keys {
			if !planned[key.String()] {
				left = append(left, key.String())
			}
		}
	}
	slices.Sort(left)
	for _, object := range left[:min(len(left), maxWarnings)] {
		warnings = append(warnings, fmt.Errorf("%s belonged to the component in the previous cluster, and the source does "+
			"not contain it: it stays, also when the component is deleted", object))
	}
	if more := len(left) - maxWarnings; more > 0 {
		warnings = append(warnings, fmt.Errorf("%s of the previous cluster will stay; their label is %s/%s",
			plural.Of(more, "more object"), operator.ReconcilerName, manifests.LabelOwnerID))
	}
	return warnings
}

func warnAll(warn func(error), warnings []error) {
	for _, warning := range warnings {
		warn(warning)
	}
}

// ownerIn returns a component as the owner of objects in a cluster.
func ownerIn(clusterUID string, target cluster.Target) manifests.Owner {
	gvk := target.Mapping.GroupVersionKind
	return manifests.Owner{
		Cluster: clusterUID, Reconciler: operator.ReconcilerName, Group: gvk.Group, Kind: gvk.Kind,
		Namespace: target.Namespace, Name: target.Name,
	}
}
