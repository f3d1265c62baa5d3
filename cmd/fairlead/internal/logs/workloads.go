package logs

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/ownership"
	"github.com/fairlead-io/fairlead/pkg/component/tree"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// workloadTypes are the built-in types whose objects are pods or have pods.
var workloadTypes = map[schema.GroupKind]bool{
	{Kind: "Pod"}: true, {Kind: "ReplicationController"}: true,
	{Group: "apps", Kind: "Deployment"}: true, {Group: "apps", Kind: "StatefulSet"}: true,
	{Group: "apps", Kind: "DaemonSet"}: true, {Group: "apps", Kind: "ReplicaSet"}: true,
	{Group: "batch", Kind: "Job"}: true, {Group: "batch", Kind: "CronJob"}: true,
}

// Workloads returns the workloads among the dependents of a component. If only is not empty, it has the workloads to
// return, in the form KIND/NAME.
func Workloads(ctx context.Context, c *cluster.Cluster, target cluster.Target, only []string) ([]manifests.Key, error) {
	obj, err := c.Find(ctx, target)
	if err != nil {
		return nil, err
	}
	status, err := cluster.Status(target, obj)
	if err != nil {
		return nil, err
	}
	if status.TargetCluster != "" {
		return nil, exit.Refuse("%s has its dependents in another cluster; read their logs there", target)
	}
	inventory, err := tree.Inventory(ctx, c, &status)
	if err != nil {
		return nil, exit.Refuse("%s: the inventory cannot be read in full: %w", target, err)
	}
	var all []manifests.Key
	for _, key := range ownership.Keys(inventory) {
		if workloadTypes[key.GroupKind()] {
			all = append(all, key)
		}
	}
	if len(all) == 0 {
		return nil, exit.Refuse("%s has no dependents with pods", target)
	}
	if len(only) == 0 {
		return all, nil
	}
	return choose(c, target, all, only)
}

// choose returns the workloads whose names are in only.
func choose(c *cluster.Cluster, target cluster.Target, all []manifests.Key, only []string) ([]manifests.Key, error) {
	var chosen []manifests.Key
	for _, text := range only {
		ref, err := cluster.ParseReference(text)
		if err != nil || ref.Type == "" {
			return nil, exit.BadUsage("dependent %q: want KIND/NAME, such as deployment/web", text)
		}
		mapping, err := c.ResolveType(ref.Type)
		if err != nil {
			return nil, err
		}
		before := len(chosen)
		for _, key := range all {
			if key.GroupKind() == mapping.GroupVersionKind.GroupKind() && key.Name == ref.Name {
				chosen = append(chosen, key)
			}
		}
		if len(chosen) == before {
			return nil, exit.Refuse("%s has no dependent %s with pods; it has %s", target, text, strings.Join(Names(all), ", "))
		}
	}
	return chosen, nil
}

// Names returns the names of workloads in the form KIND/NAME.
func Names(workloads []manifests.Key) []string {
	names := make([]string, 0, len(workloads))
	for _, key := range workloads {
		names = append(names, strings.ToLower(key.Kind)+"/"+key.Name)
	}
	return names
}

func namespacesOf(workloads []manifests.Key) []string {
	var namespaces []string
	for _, key := range workloads {
		namespaces = append(namespaces, key.Namespace)
	}
	slices.Sort(namespaces)
	return slices.Compact(namespaces)
}
