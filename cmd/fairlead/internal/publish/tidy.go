package publish

import (
	"context"
	"fmt"
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
)

// abandonedAfter is how much older than the current source a source without an owner must be before it is deleted. Such
// a source is the remainder of an interrupted apply.
const abandonedAfter = time.Hour

// tidy makes the component the owner of its source and deletes older sources. It keeps the previous source, which the
// operator may still render, and the source of the last revision that was Ready, because a person may go back to it.
func (p *Publisher) tidy(
	ctx context.Context, s sourceMap, component *unstructured.Unstructured, previous string,
) error {
	current, others, err := p.sources(ctx, s)
	if err != nil {
		return err
	}
	if current == nil {
		// A concurrent apply of another folder may have deleted the current source as an old one.
		if err := p.provide(ctx, s, component.GetUID()); err != nil {
			return err
		}
		if current, others, err = p.sources(ctx, s); err != nil {
			return err
		}
	}
	if current == nil {
		return fmt.Errorf("configmap/%s was deleted by another client; apply again", s.name)
	}
	if !ownedBy(current, component) {
		if err := p.own(ctx, s, current, component); err != nil {
			return err
		}
	}
	ready := lastReady(component)
	others = slices.DeleteFunc(others, func(item metav1.PartialObjectMetadata) bool {
		return item.Name == ready &&
			ready != previous
	})
	return p.remove(ctx, s.target.Namespace, superfluous(others, current.CreationTimestamp.Time, previous))
}

// lastReady returns the name of the source ConfigMap of the last revision in the history that was Ready. It is empty if
// no such revision exists.
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
			name, at = source, revision.Revision
		}
	}
	return name
}

// sources lists the metadata of the component's sources: the current one, which is nil if it does not exist, and the
// others.
func (p *Publisher) sources(
	ctx context.Context, s sourceMap,
) (current *metav1.PartialObjectMetadata, others []metav1.PartialObjectMetadata, err error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
	err = p.Client.List(ctx, list, client.InNamespace(s.target.Namespace), client.MatchingLabels(s.labels()))
	for _, item := range list.Items {
		if item.Name == s.name {
			current = &item
			continue
		}
		others = append(others, item)
	}
	return current, others, err
}

func (p *Publisher) remove(ctx context.Context, namespace string, names []string) error {
	for _, name := range names {
		obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		err := p.Client.Delete(ctx, obj)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return err
		}
		p.Done(fmt.Sprintf("configmap/%s deleted", name))
	}
	return nil
}

func ownedBy(item *metav1.PartialObjectMetadata, component *unstructured.Unstructured) bool {
	return slices.ContainsFunc(item.OwnerReferences,
		func(ref metav1.OwnerReference) bool { return ref.UID == component.GetUID() })
}

// own sets the owner reference of a source.
func (p *Publisher) own(
	ctx context.Context, s sourceMap, item *metav1.PartialObjectMetadata, component *unstructured.Unstructured,
) error {
	item.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	owned := item.DeepCopy()
	owned.OwnerReferences = s.owners(component.GetUID())
	return p.Client.Patch(ctx, owned, client.MergeFromWithOptions(item, client.MergeFromWithOptimisticLock{}))
}

// superfluous returns the names of the sources to delete. Current is the creation time of the current source. If
// previous is empty, because the component's source did not change, the youngest of the others is kept as the previous
// source.
func superfluous(others []metav1.PartialObjectMetadata, current time.Time, previous string) []string {
	slices.SortFunc(others, func(a, b metav1.PartialObjectMetadata) int {
		if byAge := b.CreationTimestamp.Compare(a.CreationTimestamp.Time); byAge != 0 {
			return byAge
		}
		return strings.Compare(a.Name, b.Name)
	})
	var names []string
	for _, item := range others {
		inFlight := len(item.OwnerReferences) == 0 && current.Sub(item.CreationTimestamp.Time) < abandonedAfter
		switch {
		case inFlight, item.Name == previous:
		case previous == "":
			previous = item.Name
		default:
			names = append(names, item.Name)
		}
	}
	return names
}
