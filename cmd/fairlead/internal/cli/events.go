package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/belongs"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/show"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

const eventsHelp = `Show the events of the component NAME, the newest last. With --dependents also those of its dependents, and of what Kubernetes
makes for them: replica sets, jobs and pods.

The API server keeps events for an hour, unless it is told otherwise.`

// eventFormats are those that show events, which are no objects that a person names.
var eventFormats = []show.Format{show.FormatWide, show.FormatJSON, show.FormatYAML}

// eventOptions are the flags of events.
type eventOptions struct {
	dependents, watch bool
	types             []string
}

func (a *app) newEvents() *cobra.Command {
	var output string
	var o eventOptions
	cmd := &cobra.Command{
		Use:   "events NAME | TYPE/NAME",
		Short: "Show the events of a component and its dependents",
		Long:  eventsHelp,
		Args:  takes(0, theComponent),
		RunE: work(func(ctx context.Context, args []string) error {
			out, err := a.output(output, eventFormats)
			if err != nil {
				return err
			}
			if err := o.check(); err != nil {
				return err
			}
			return a.events(ctx, args[0], o, out)
		}),
		ValidArgsFunction: a.completeOne,
	}
	cmd.Flags().BoolVarP(&o.dependents, "dependents", "d", false, "show the events of its dependents too, and of what Kubernetes makes for them")
	cmd.Flags().BoolVarP(&o.watch, "watch", "w", false, "go on showing what happens")
	cmd.Flags().StringSliceVar(&o.types, "types", nil, "only events of these types: Normal, Warning")
	addOutputFlag(cmd, &output, eventFormats)
	complete(cmd, "types", corev1.EventTypeNormal, corev1.EventTypeWarning)
	return cmd
}

// check makes the types those of Kubernetes, however they are written.
func (o *eventOptions) check() error {
	known := []string{corev1.EventTypeNormal, corev1.EventTypeWarning}
	for i, text := range o.types {
		at := slices.IndexFunc(known, func(k string) bool { return strings.EqualFold(k, text) })
		if at < 0 {
			return exit.BadUsage("--types %q: want %s", text, strings.Join(known, ", "))
		}
		o.types[i] = known[at]
	}
	return nil
}

func (a *app) events(ctx context.Context, name string, o eventOptions, out show.Output) error {
	c, target, err := a.connect(name)
	if err != nil {
		return err
	}
	keys, err := concerned(ctx, c, target, o.dependents)
	if err != nil {
		return err
	}
	t := &teller{cluster: c, belongings: belongs.New(c, keys), options: o, out: out, told: map[types.UID]string{}}
	if !o.dependents {
		// The API server knows best which these are.
		t.selector = client.MatchingFields{"involvedObject.kind": keys[0].Kind, "involvedObject.name": keys[0].Name}
	}
	if err := t.list(ctx, namespacesOf(keys)); err != nil {
		return err
	}
	if len(t.found) == 0 && !out.Structured() && !o.watch {
		_, err := fmt.Fprintf(a.ErrOut, "There are no events of %s.\n", target)
		return err
	}
	if err := show.NewEvents(t.found).Print(out, time.Now()); err != nil || !o.watch {
		return err
	}
	return t.follow(ctx, namespacesOf(keys))
}

// concerned returns a component, and its dependents if they are wanted.
func concerned(ctx context.Context, c *cluster.Cluster, target cluster.Target, dependents bool) ([]manifests.Key, error) {
	obj, err := c.Find(ctx, target)
	if err != nil {
		return nil, err
	}
	// Of other types only what is a component: a person may have mistaken the type.
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
		return nil, exit.Refuse("%s: its dependents are in another cluster, whose events are not here; leave out --dependents", target)
	}
	inventory, err := component.Inventory(ctx, c, &status)
	if err != nil {
		return nil, exit.Refuse("%s: the inventory cannot be read in full: %w", target, err)
	}
	return append(keys, belongs.Keys(inventory)...), nil
}

// namespacesOf returns where the events of objects are: beside them, or in the namespace default.
func namespacesOf(keys []manifests.Key) []string {
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

// teller tells of events.
type teller struct {
	cluster    *cluster.Cluster
	belongings *belongs.Belongings
	selector   client.MatchingFields
	options    eventOptions
	out        show.Output

	mu    sync.Mutex
	found []show.Event
	// told are the versions of events that were shown.
	told map[types.UID]string
}

func (t *teller) selection(namespace string) cluster.Selection {
	s := cluster.Selection{Namespace: namespace}
	if t.selector != nil {
		s.Options = append(s.Options, t.selector)
	}
	return s
}

// list finds the events that there are.
func (t *teller) list(ctx context.Context, namespaces []string) error {
	for _, namespace := range namespaces {
		var list corev1.EventList
		err := t.cluster.Pages(ctx, &list, t.selection(namespace), func() error {
			return t.take(ctx, list.Items, func(e show.Event) error {
				t.found = append(t.found, e)
				return nil
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// follow shows events as they come, until the context ends.
func (t *teller) follow(ctx context.Context, namespaces []string) error {
	tell := func(e show.Event) error { return e.Print(t.out, time.Now()) }
	group, watching := errgroup.WithContext(ctx)
	for _, namespace := range namespaces {
		group.Go(func() error {
			var list corev1.EventList
			return t.cluster.Watch(watching, &list, t.selection(namespace),
				func() error { return t.take(watching, list.Items, tell) },
				func(obj client.Object) error {
					if event, ok := obj.(*corev1.Event); ok {
						return t.take(watching, []corev1.Event{*event}, tell)
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

// take gives to tell the events that concern the component, and were not told of in this version.
func (t *teller) take(ctx context.Context, items []corev1.Event, tell func(show.Event) error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range items {
		e := &items[i]
		if t.told[e.UID] == e.ResourceVersion || len(t.options.types) > 0 && !slices.Contains(t.options.types, e.Type) {
			continue
		}
		_, ours, err := t.belongings.Dependent(ctx, involved(e))
		if err != nil {
			return err
		}
		if !ours {
			continue
		}
		t.told[e.UID] = e.ResourceVersion
		if err := tell(show.NewEvent(e)); err != nil {
			return err
		}
	}
	return nil
}

func involved(e *corev1.Event) manifests.Key {
	o := e.InvolvedObject
	return manifests.Key{Group: schema.FromAPIVersionAndKind(o.APIVersion, o.Kind).Group, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name}
}
