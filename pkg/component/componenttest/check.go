package componenttest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/marks"
	"github.com/fairlead-io/fairlead/pkg/component/tree"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// sight is what an administrator sees of a component.
type sight struct {
	// exists says that the component is there, ready that it says so of its current generation, with what it says.
	exists, ready bool
	condition     string
	revision      int64
	record        map[string]any
	dependents    map[string]any
	// leaked are dependents that are not in the record, lost those in the record that are not there.
	leaked, lost []string
}

// look reads the component and its dependents.
func (p *run[C]) look(ctx context.Context) (sight, error) {
	// The dependents first: what an operator writes meanwhile is in the inventory before.
	live, err := p.dependents(ctx)
	if err != nil {
		return sight{}, err
	}
	s := sight{record: map[string]any{}, dependents: map[string]any{}}
	entries, err := p.inventory(ctx, &s)
	if err != nil {
		return sight{}, err
	}
	recorded := map[string]metav1alpha1.InventoryEntry{}
	for _, e := range entries {
		key := portableKey(manifests.Key{Group: e.Group, Kind: e.Kind, Namespace: e.Namespace, Name: e.Name}, p.namespace)
		recorded[key] = e
		s.record[key] = map[string]any{
			"completed":     e.Completed,
			"delete policy": string(e.DeletePolicy),
			"order":         float64(e.Order),
		}
	}
	uids := map[string]string{}
	for _, o := range live {
		key := portableKey(keyOf(&o), p.namespace)
		if s.dependents[key], err = portable(&o, p.Reconciler, p.namespace); err != nil {
			return sight{}, err
		}
		uids[key] = string(o.GetUID())
		if _, ok := recorded[key]; !ok {
			s.leaked = append(s.leaked, key)
		}
	}
	for key, e := range recorded {
		if !e.Completed && !e.External && uids[key] != string(e.UID) {
			s.lost = append(s.lost, fmt.Sprintf("%s with UID %q", key, e.UID))
		}
	}
	guards, err := p.guards(ctx, s)
	s.leaked = append(s.leaked, guards...)
	slices.Sort(s.leaked)
	slices.Sort(s.lost)
	return s, err
}

func keyOf(o *unstructured.Unstructured) manifests.Key {
	gvk := o.GroupVersionKind()
	return manifests.Key{Group: gvk.Group, Kind: gvk.Kind, Namespace: o.GetNamespace(), Name: o.GetName()}
}

func portableKey(key manifests.Key, namespace string) string {
	return strings.ReplaceAll(key.String(), namespace, "NAMESPACE")
}

// inventory reads the record of the component, and what it says of itself.
func (p *run[C]) inventory(ctx context.Context, s *sight) ([]metav1alpha1.InventoryEntry, error) {
	c, err := p.current(ctx)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	status := c.GetStatus()
	s.exists, s.revision = true, status.Revision
	if ready := meta.FindStatusCondition(status.Conditions, metav1alpha1.ConditionReady); ready != nil {
		s.ready = ready.Status == metav1.ConditionTrue && ready.ObservedGeneration == c.GetGeneration()
		s.condition = fmt.Sprintf("%s %s: %s", ready.Status, ready.Reason, ready.Message)
	}
	entries, err := tree.Inventory(ctx, p.client, status)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("the record was replaced while it was read: %w", err)
	}
	return entries, err
}

// guards lists the guards of a deletion that outlived it.
func (p *run[C]) guards(ctx context.Context, s sight) ([]string, error) {
	var found []string
	for t := range p.record.types {
		if t.group != "admissionregistration.k8s.io" || s.exists {
			continue
		}
		list, err := p.list(ctx, t, marks.LabelGuardOf)
		if err != nil {
			return nil, err
		}
		for _, o := range list {
			found = append(found, portableKey(keyOf(&o), p.namespace))
		}
	}
	return found, nil
}

// list lists the objects of a type with a label that names the component.
func (p *run[C]) list(ctx context.Context, t target, label string) ([]unstructured.Unstructured, error) {
	gvr := schema.GroupVersionResource{Group: t.group, Version: t.version, Resource: t.resource}
	selector := p.Reconciler + "/" + label + "=" + p.owner.ID()
	list, err := p.dynamic.Resource(gvr).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if apierrors.IsNotFound(err) {
		return nil, nil // Nobody defines the type any more.
	}
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", gvr.GroupResource(), err)
	}
	return list.Items, nil
}

// dependents lists what carries the component's mark, among all types that were written to. A label alone may be a
// copy.
func (p *run[C]) dependents(ctx context.Context) ([]unstructured.Unstructured, error) {
	for _, t := range p.injector.tally.written() {
		p.record.types[t] = true
	}
	var found []unstructured.Unstructured
	for t := range p.record.types {
		list, err := p.list(ctx, t, manifests.LabelOwnerID)
		if err != nil {
			return nil, err
		}
		for _, o := range list {
			key := manifests.Key{Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName()}
			_, copied := marks.CopyOf(key, o.GetAnnotations(), p.Reconciler)
			if !copied && o.GetAnnotations()[p.Reconciler+"/"+manifests.AnnotationOwnerID] == p.owner.String() {
				found = append(found, o)
			}
		}
	}
	return found, nil
}

// arrived says what is missing to the end of a step, and what there is.
func (p *run[C]) arrived(ctx context.Context, i int) (snapshot, []string) {
	// Looking at all dependents is worth it only when the component says that it is done.
	if problem := p.unfinished(ctx, i); problem != "" {
		return nil, []string{problem}
	}
	found, err := p.look(ctx)
	if err != nil {
		return nil, []string{err.Error()}
	}
	state := snapshot{
		"component":  map[string]any{"exists": found.exists, "ready": found.ready, "revision": float64(found.revision)},
		"record":     found.record,
		"dependents": found.dependents,
		"created":    p.created(),
	}
	things, problems := p.things()
	state["things"] = things
	if p.Outside != nil {
		outside, err := p.outside(ctx)
		if err != nil {
			problems = append(problems, err.Error())
		}
		state["outside"] = outside
	}
	if p.Missing != nil {
		problems = append(problems, p.Missing(ctx, p.client, p.namespace)...)
	}
	for _, key := range found.leaked {
		problems = append(problems, key+" leaks: it is not in the inventory")
	}
	for _, key := range found.lost {
		problems = append(problems, key+" is in the inventory, but does not exist")
	}
	if p.reference != nil {
		problems = append(problems, state.differences(p.reference.steps[i].state)...)
	}
	return state, problems
}

// unfinished says why a step is not at its end, as far as the component tells. Without faults, and before the deletion,
// the operator must have come to rest, too.
func (p *run[C]) unfinished(ctx context.Context, i int) string {
	last, deletion := i == len(p.Steps), i > len(p.Steps)
	var s sight
	if _, err := p.inventory(ctx, &s); err != nil {
		return err.Error()
	}
	if s.exists == deletion || !deletion && !s.ready {
		return fmt.Sprintf("the component exists: %t; Ready: %s", s.exists, s.condition)
	}
	if p.reference != nil && !last {
		return ""
	}
	if _, underWay, since := p.injector.requests(); underWay > 0 || time.Since(since) < restTime {
		return "the operator does not come to rest"
	}
	return ""
}

// outside counts what is in the external systems of the component.
func (p *run[C]) outside(ctx context.Context) (map[string]any, error) {
	found := map[string]any{}
	texts, err := p.Outside(ctx, p.namespace)
	for _, text := range texts {
		n, _ := found[text].(float64)
		found[text] = n + 1
	}
	return found, err
}

// created counts the creations of each object.
func (p *run[C]) created() map[string]any {
	found := map[string]any{}
	for name, n := range p.injector.tally.creations() {
		found[strings.ReplaceAll(name, p.namespace, "NAMESPACE")] = float64(n)
	}
	return found
}
