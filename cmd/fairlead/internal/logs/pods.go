package logs

import (
	"context"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/ownership"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Pods finds the pods of workloads.
type Pods struct {
	cluster    *cluster.Cluster
	selector   labels.Selector
	resolver   *ownership.Resolver
	namespaces []string
}

// NewPods returns a Pods for the pods of workloads whose labels match the selector.
func NewPods(c *cluster.Cluster, workloads []manifests.Key, selector labels.Selector) *Pods {
	return &Pods{cluster: c, selector: selector, resolver: ownership.New(c, workloads), namespaces: namespacesOf(workloads)}
}

func (p *Pods) selection(namespace string) cluster.Selection {
	matching := client.MatchingLabelsSelector{Selector: p.selector}
	return cluster.Selection{Namespace: namespace, Options: []client.ListOption{matching}}
}

// Logged returns the containers that have logs now. It returns an error if their number exceeds limit, or if no pod
// has the container in the options.
func (p *Pods) Logged(ctx context.Context, o Options, limit int) ([]Container, error) {
	var found []Container
	names := map[string]bool{}
	err := p.each(ctx, func(pod *corev1.Pod) {
		found = append(found, Logged(pod, o)...)
		for _, name := range Containers(pod) {
			names[name] = true
		}
	})
	switch {
	case err != nil:
		return nil, err
	case len(found) > limit:
		return nil, exit.Refuse("%d logs are more than --max-log-requests %d; name a dependent, or raise the limit",
			len(found), limit)
	}
	return found, o.checkContainer(names)
}

// Containers returns the names of all containers of the pods, sorted.
func (p *Pods) Containers(ctx context.Context) ([]string, error) {
	names := map[string]bool{}
	err := p.each(ctx, func(pod *corev1.Pod) {
		for _, name := range Containers(pod) {
			names[name] = true
		}
	})
	return slices.Sorted(maps.Keys(names)), err
}

// checkContainer returns an error if names, the names of the existing containers, lack the container in the options.
func (o Options) checkContainer(names map[string]bool) error {
	if o.Container == "" || len(names) == 0 || names[o.Container] {
		return nil
	}
	existing := strings.Join(slices.Sorted(maps.Keys(names)), ", ")
	return exit.Refuse("no pod has a container %q; the pods have %s", o.Container, existing)
}

// each calls visit for each pod of the workloads.
func (p *Pods) each(ctx context.Context, visit func(*corev1.Pod)) error {
	for _, namespace := range p.namespaces {
		var list corev1.PodList
		err := p.cluster.Pages(ctx, &list, p.selection(namespace), func() error {
			for i := range list.Items {
				belongs, err := p.belongs(ctx, &list.Items[i])
				if err != nil {
					return err
				}
				if belongs {
					visit(&list.Items[i])
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *Pods) belongs(ctx context.Context, pod *corev1.Pod) (bool, error) {
	key := manifests.Key{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name}
	_, belongs, err := p.resolver.DependentOf(ctx, key, pod)
	return belongs, err
}
