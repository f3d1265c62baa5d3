package events

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/ownership"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/show"
	"github.com/fairlead-io/fairlead/pkg/component/tree"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Subject returns the key of a component and, if dependents is true, the keys of the dependents in its inventory.
func Subject(ctx context.Context, c *cluster.Cluster, target cluster.Target, dependents bool) ([]manifests.Key, error) {
	obj, err := c.Find(ctx, target)
	if err != nil {
		return nil, err
	}
	// An object of another type must have the status of a component, because the person may have named a wrong type.
	status, err := cluster.StatusIfAny(target, obj)
	if err != nil {
		return nil, err
	}
	gvk := target.Mapping.GroupVersionKind
	keys := []manifests.Key{{Group: gvk.Group, Kind: gvk.Kind, Namespace: target.Namespace, Name: target.Name}}
	if !dependents {
		return keys, nil
	}
	if status.TargetCluster != "" {
		return nil, exit.Refuse("%s: its dependents are in another cluster, and so are their Events; leave out --dependents",
			target)
	}
	inventory, err := tree.Inventory(ctx, c, &status)
	if err != nil {
		return nil, exit.Refuse("%s: the inventory cannot be read in full: %w", target, err)
	}
	return append(keys, ownership.Keys(inventory)...), nil
}

// Reader lists and follows Events.
type Reader struct {
	cluster  *cluster.Cluster
	resolver *ownership.Resolver
	// namespaces are the namespaces with the Events of the subject.
	namespaces []string
	selector   client.MatchingFields
	types      []string

	mu sync.Mutex
	// seen contains the resource version of each Event when it was last passed on, by the UID of the Event.
	seen map[types.UID]string
}

// NewReader returns a Reader of the Events of the objects in subject. The first object is the component. If subject
// contains only the component, the requests select the Events by the kind and name of the component. EventTypes
// restricts the types of Events; if it is empty, all types are read.
func NewReader(c *cluster.Cluster, subject []manifests.Key, eventTypes []string) *Reader {
	r := &Reader{
		cluster: c, resolver: ownership.New(c, subject), namespaces: Namespaces(subject), types: eventTypes,
		seen: map[types.UID]string{},
	}
	if len(subject) == 1 {
		r.selector = client.MatchingFields{"involvedObject.kind": subject[0].Kind, "involvedObject.name": subject[0].Name}
	}
	return r
}

// Namespaces returns the namespaces with the Events of objects. The Events of a namespaced object are in its namespace,
// and the Events of a cluster-scoped object are in the namespace default.
func Namespaces(keys []manifests.Key) []string {
	var namespaces []string
	for _, key := range keys {
		namespace := key.Namespace
		if namespace == "" {
			namespace = metav1.NamespaceDefault
		}
		namespaces = append(namespaces, namespace)
	}
	slices.Sort(namespaces)
	return slices.Compact(namespaces)
}

func (r *Reader) selection(namespace string) cluster.Selection {
	s := cluster.Selection{Namespace: namespace}
	if r.selector != nil {
		s.Options = append(s.Options, r.selector)
	}
	return s
}

// List returns the existing Events.
func (r *Reader) List(ctx context.Context) ([]show.Event, error) {
	var found []show.Event
	for _, namespace := range r.namespaces {
		var list corev1.EventList
		err := r.cluster.Pages(ctx, &list, r.selection(namespace), func() error {
			return r.take(ctx, list.Items, func(e show.Event) error {
				found = append(found, e)
				return nil
			})
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// Follow prints new and changed Events until the context ends. The end of the context is not an error.
func (r *Reader) Follow(ctx context.Context, out show.Output) error {
	printEvent := func(e show.Event) error { return e.Print(out, time.Now()) }
	group, watching := errgroup.WithContext(ctx)
	for _, namespace := range r.namespaces {
		group.Go(func() error {
			var list corev1.EventList
			return r.cluster.Watch(watching, &list, r.selection(namespace),
				func() error { return r.take(watching, list.Items, printEvent) },
				func(obj client.Object) error {
					if event, ok := obj.(*corev1.Event); ok {
						return r.take(watching, []corev1.Event{*event}, printEvent)
					}
					return nil
				})
		})
	}
	if err := group.Wait(); ctx.Err() == nil {
		return err
	}
	return nil
}

// take calls visit with each Event that belongs to the subject, has a wanted type, and was not visited in the same
// version.
func (r *Reader) take(ctx context.Context, items []corev1.Event, visit func(show.Event) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range items {
		e := &items[i]
		if r.seen[e.UID] == e.ResourceVersion || len(r.types) > 0 && !slices.Contains(r.types, e.Type) {
			continue
		}
		_, belongs, err := r.resolver.Dependent(ctx, involved(e))
		if err != nil {
			return err
		}
		if !belongs {
			continue
		}
		r.seen[e.UID] = e.ResourceVersion
		if err := visit(show.NewEvent(e)); err != nil {
			return err
		}
	}
	return nil
}

func involved(e *corev1.Event) manifests.Key {
	o := e.InvolvedObject
	group := schema.FromAPIVersionAndKind(o.APIVersion, o.Kind).Group
	return manifests.Key{Group: group, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name}
}
