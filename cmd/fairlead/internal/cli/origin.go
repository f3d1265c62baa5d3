package cli

import (
	"context"
	"reflect"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/changes"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/notes"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/show"
	"github.com/fairlead-io/fairlead/internal/operator"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// explanation is what is found out, and what is not.
type explanation struct {
	show.Why
	// hidden is why the API server does not show all that it takes.
	hidden error
}

// unknown notes what cannot be told, and why.
func (e *explanation) unknown(what string, err error) {
	e.Unknown = append(e.Unknown, what+": "+exit.Line(err))
	if e.hidden == nil && exit.IsUnasked(err) {
		e.hidden = exit.Unasked("%s: not all of it can be read: %w", e.Object, err)
	}
}

// explain says what the component tells of its dependent.
func (a *app) explain(
	ctx context.Context, c *cluster.Cluster, dependent *unstructured.Unstructured, owner manifests.Owner, path changes.Path, w *explanation,
) error {
	w.Component, w.Reconciler = owner.Component().String(), owner.Reconciler
	w.Settings = manifestSettings(dependent, owner.Reconciler)
	mapping, err := c.ResolveType(owner.Kind + "." + owner.Group)
	if err != nil {
		w.unknown("its component", err)
		return nil
	}
	target := cluster.Target{Mapping: mapping, Namespace: owner.Namespace, Name: owner.Name}
	obj := target.Blank()
	if err := c.Get(ctx, client.ObjectKeyFromObject(obj), obj); apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		w.unknown("its component, which may live in another cluster", err)
		return nil
	} else if err != nil {
		return err
	}
	if err := recall(ctx, c, target, obj, dependent, w); err != nil {
		return err
	}
	if !target.IsReadyMade() {
		w.Unknown = append(w.Unknown, "file and values: only its operator knows how it is rendered")
		return nil
	}
	return a.trace(ctx, c, obj, dependent, path, w)
}

func manifestSettings(obj *unstructured.Unstructured, reconciler string) map[string]string {
	settings := map[string]string{}
	for key, value := range obj.GetAnnotations() {
		name, ours := strings.CutPrefix(key, reconciler+"/")
		if ours && name != manifests.AnnotationOwnerID && name != manifests.AnnotationDigest {
			settings[name] = value
		}
	}
	return settings
}

// recall enters what is recorded.
func recall(ctx context.Context, c *cluster.Cluster, target cluster.Target, obj, dependent *unstructured.Unstructured, w *explanation) error {
	status, err := cluster.StatusIfAny(target, obj)
	if err != nil {
		return err
	}
	w.Revision = status.Revision
	inventory, err := component.Inventory(ctx, c, &status)
	if err != nil {
		w.unknown("part of the record", err)
	}
	for _, e := range inventory {
		if e.UID == dependent.GetUID() {
			w.Recorded, w.Wave, w.DeleteWave = true, e.Order, e.EffectiveDeleteOrder()
		}
	}
	return nil
}

// trace renders the component to see which file and values a dependent is from.
func (a *app) trace(ctx context.Context, c *cluster.Cluster, obj, dependent *unstructured.Unstructured, path changes.Path, w *explanation) error {
	about, err := a.flags.ToDiscoveryClient()
	if err != nil {
		return exit.Unasked("kubeconfig: %w", err)
	}
	traced := &v1alpha1.Component{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, traced); err != nil {
		return err
	}
	req, err := notes.Request(ctx, c.Client, about, traced)
	if err != nil {
		w.unknown("file and values", err)
		return nil
	}
	gvk := dependent.GroupVersionKind()
	wanted := operator.Wanted{Key: manifests.Key{Group: gvk.Group, Kind: gvk.Kind, Namespace: dependent.GetNamespace(), Name: dependent.GetName()}}
	if path != nil {
		wanted.At = path.At
	}
	p, err := operator.Trace(ctx, req, wanted)
	switch {
	case err != nil:
		w.unknown("file and values", err)
		return nil
	case p.Rendered == nil:
		w.Unknown = append(w.Unknown, "file and values: it is not rendered any more")
		return nil
	}
	w.File, w.Values = p.File, p.Values
	if p.Unknown != "" {
		w.Unknown = append(w.Unknown, "whether other values matter: "+p.Unknown)
	}
	if p.File == "" {
		w.Unknown = append(w.Unknown, "file: what renders it does not tell")
	}
	if path != nil && w.Field != nil {
		rendered, set := path.At(p.Rendered)
		live, _ := path.At(dependent)
		w.Field.Unknown, w.Field.Rendered, w.Field.Differs = false, set, set && !reflect.DeepEqual(rendered, live)
	}
	return nil
}
