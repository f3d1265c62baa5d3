package publish

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
)

// abandonedAfter is how much older than the current source a source without an owner must be before it is deleted. Such
// a source is the remainder of an interrupted apply.
const abandonedAfter = time.Hour

// group is a source of a component as it is in the cluster: its ConfigMaps without their archives.
type group struct {
	name  string
	items []metav1.PartialObjectMetadata
}

// created returns the creation time of the youngest ConfigMap.
func (g group) created() time.Time {
	var youngest time.Time
	for _, item := range g.items {
		if item.CreationTimestamp.After(youngest) {
			youngest = item.CreationTimestamp.Time
		}
	}
	return youngest
}

// isOwned reports whether all ConfigMaps have an owner.
func (g group) isOwned() bool {
	return !slices.ContainsFunc(g.items,
		func(item metav1.PartialObjectMetadata) bool { return len(item.OwnerReferences) == 0 })
}

// tidy makes the component the owner of its source and deletes older sources. It keeps the previous source, which the
// operator may still render, and the source of the last revision that was Ready, because a person may go back to it.
func (p *Publisher) tidy(
	ctx context.Context, s stored, component *unstructured.Unstructured, previous string,
) error {
	current, others, err := p.sources(ctx, s)
	if err != nil {
		return err
	}
	if len(current.items) < len(s.parts) {
		// A concurrent apply of another folder may have deleted the current source as an old one.
		if _, err := p.provide(ctx, s, component.GetUID()); err != nil {
			return err
		}
		if current, others, err = p.sources(ctx, s); err != nil {
			return err
		}
	}
	if len(current.items) < len(s.parts) {
		return fmt.Errorf("configmap/%s was deleted by another client; apply again", s.group())
	}
	for i := range current.items {
		if item := &current.items[i]; !ownedBy(item, component) {
			if err := p.own(ctx, s, item, component); err != nil {
				return err
			}
		}
	}
	ready := lastReady(component)
	others = slices.DeleteFunc(others, func(other group) bool { return other.name == ready && ready != previous })
	for _, other := range superfluous(others, current.created(), previous) {
		if err := p.remove(ctx, other); err != nil {
			return err
		}
	}
	return nil
}

// discard deletes the ConfigMaps that were created for a source after its component was not written: nobody would ever
// delete those without an owner. It deletes nothing if the write may have succeeded, and nothing that the component
// names or that another apply has taken meanwhile. ConfigMaps that existed before stay, because others may name them.
func (p *Publisher) discard(ctx context.Context, s stored, created []*corev1.ConfigMap, failure error) {
	_, refused := errors.AsType[*exit.Error](failure)
	if !refused && !apierrors.IsInvalid(failure) && !apierrors.IsForbidden(failure) {
		return
	}
	component := s.target.Blank()
	if err := p.Client.Get(ctx, client.ObjectKeyFromObject(component), component); client.IgnoreNotFound(err) != nil {
		return
	}
	if names, _ := sourceNames(component); len(names) > 0 && groupOf(s.target.Name, names[0]) == s.group() {
		return
	}
	for _, item := range created {
		// A component whose apply needs the same source makes it its own, which changes the version, or creates it again.
		unused := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: item.Namespace, Name: item.Name}}
		err := p.Client.Delete(ctx, unused,
			client.Preconditions{UID: &item.UID, ResourceVersion: &item.ResourceVersion})
		switch {
		case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		case err != nil:
			p.Warn(fmt.Errorf("configmap/%s is left over: %w", item.Name, err))
		default:
			p.Done(fmt.Sprintf("configmap/%s deleted", item.Name))
		}
	}
}

// lastReady returns the common name of the ConfigMaps of the last revision in the history that was Ready, empty if
// there is none.
func lastReady(component *unstructured.Unstructured) string {
	history, _, _ := unstructured.NestedSlice(component.Object, "status", "history")
	name, at := "", int64(0)
	for _, item := range history {
		revision := &metav1alpha1.RevisionRecord{}
		record, _ := item.(map[string]any)
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(record, revision); err != nil {
			continue
		}
		source, fromConfigMap := strings.CutPrefix(revision.Source, string(metav1alpha1.ConfigMapReference)+" ")
		if fromConfigMap && revision.Outcome == metav1alpha1.RevisionReady && revision.Revision > at {
			// The name of the first ConfigMap is followed by the number of the others.
			first, _, _ := strings.Cut(source, " ")
			name, at = groupOf(component.GetName(), first), revision.Revision
		}
	}
	return name
}

// sources lists the sources of the component: the current one, without items if it does not exist, and the others. A
// ConfigMap with the labels of a source but another name is a copy that somebody made.
func (p *Publisher) sources(ctx context.Context, s stored) (current group, others []group, err error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
	err = p.Client.List(ctx, list, client.InNamespace(s.target.Namespace), client.MatchingLabels(labels(s.target)))
	byName := map[string]*group{}
	for _, item := range list.Items {
		if !Names(s.target.Name, item.Name) {
			continue
		}
		name := groupOf(s.target.Name, item.Name)
		if byName[name] == nil {
			byName[name] = &group{name: name}
		}
		byName[name].items = append(byName[name].items, item)
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		if name == s.group() {
			current = *byName[name]
			continue
		}
		others = append(others, *byName[name])
	}
	return current, others, err
}

func (p *Publisher) remove(ctx context.Context, g group) error {
	for i := range g.items {
		item := &g.items[i]
		err := p.Client.Delete(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: item.Namespace, Name: item.Name},
		})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return err
		}
		p.Done(fmt.Sprintf("configmap/%s deleted", item.Name))
	}
	return nil
}

func ownedBy(item *metav1.PartialObjectMetadata, component *unstructured.Unstructured) bool {
	return slices.ContainsFunc(item.OwnerReferences,
		func(ref metav1.OwnerReference) bool { return ref.UID == component.GetUID() })
}

// own sets the owner reference of a source.
func (p *Publisher) own(
	ctx context.Context, s stored, item *metav1.PartialObjectMetadata, component *unstructured.Unstructured,
) error {
	item.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	owned := item.DeepCopy()
	owned.OwnerReferences = s.ownerReferences(component.GetUID())
	return p.Client.Patch(ctx, owned, client.MergeFromWithOptions(item, client.MergeFromWithOptimisticLock{}))
}

// superfluous returns the sources to delete. If the component did not switch, the youngest of the others is the
// previous one. Current is the creation time of the current source.
func superfluous(others []group, current time.Time, previous string) []group {
	slices.SortFunc(others, func(a, b group) int {
		if byAge := b.created().Compare(a.created()); byAge != 0 {
			return byAge
		}
		return strings.Compare(a.name, b.name)
	})
	var old []group
	for _, other := range others {
		inFlight := !other.isOwned() && current.Sub(other.created()) < abandonedAfter
		switch {
		case inFlight, other.name == previous:
		case previous == "":
			previous = other.name
		default:
			old = append(old, other)
		}
	}
	return old
}
