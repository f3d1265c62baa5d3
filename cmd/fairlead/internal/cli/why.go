package cli

import (
	"context"
	"reflect"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

const whyHelp = `Show where the object TYPE/NAME comes from: the component that it is a dependent of, its wave and settings, the file of the source that
renders it, and the values that have a part in it. An object that a controller made, such as a Pod, leads to the dependent that it was made for.

With --field PATH it is about one field, such as spec.containers[web].image: who manages it, whether the manifest sets it, and by which values.

The values are found by rendering the component again, with each of them changed, for 15 seconds at the most. What cannot be told is said so.`

func (a *app) newWhy() *cobra.Command {
	var output, field string
	cmd := &cobra.Command{
		Use:   "why TYPE/NAME",
		Short: "Show where an object comes from",
		Long:  whyHelp,
		Args:  cobra.ExactArgs(1),
		RunE: work(func(ctx context.Context, args []string) error {
			out, err := a.output(output, show.Documents)
			if err != nil {
				return err
			}
			return a.why(ctx, args[0], field, out)
		}),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.Flags().StringVar(&field, "field", "", "path of a field, such as spec.containers[web].image or metadata.labels[example.com/team]")
	addOutputFlag(cmd, &output, show.Documents)
	return cmd
}

func (a *app) why(ctx context.Context, name, field string, out show.Output) error {
	var path changes.Path
	if field != "" {
		var err error
		if path, err = changes.ParsePath(field); err != nil {
			return exit.BadUsage("%w", err)
		}
	}
	if !strings.Contains(name, "/") {
		return exit.BadUsage("object %q: want TYPE/NAME", name)
	}
	c, target, err := a.connect(name)
	if err != nil {
		return err
	}
	live, err := c.Find(ctx, target)
	if err != nil {
		return err
	}
	w := show.Why{Object: objectOf(live)}
	if path != nil {
		if w.Field, err = fieldOf(target, live, path); err != nil {
			return err
		}
	}
	dependent, owner, err := a.dependent(ctx, c, live, &w)
	if err != nil {
		return err
	}
	if dependent != live {
		// What is rendered is the dependent, of which the field is none.
		path = nil
	}
	if err := a.explain(ctx, c, dependent, owner, path, &w); err != nil {
		return err
	}
	return w.Print(out)
}

func objectOf(obj *unstructured.Unstructured) show.WhyObject {
	gvk := obj.GroupVersionKind()
	return show.WhyObject{Group: gvk.Group, Kind: gvk.Kind, Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

func fieldOf(target cluster.Target, live *unstructured.Unstructured, path changes.Path) (*show.WhyField, error) {
	value, found := path.At(live)
	if !found {
		return nil, exit.Refuse("%s has no field %s", target, changes.Join(path))
	}
	if changes.IsSecret(live) {
		value = "***"
	}
	return &show.WhyField{Path: changes.Join(path), Value: value, Managers: changes.Managers(live, path)}, nil
}

// maxControllers bounds how many controllers one after the other are asked for their objects.
const maxControllers = 8

// dependent returns the dependent that an object is, or was made for by controllers, and who owns it.
func (a *app) dependent(
	ctx context.Context, c *cluster.Cluster, live *unstructured.Unstructured, w *show.Why,
) (*unstructured.Unstructured, manifests.Owner, error) {
	obj := live
	for range maxControllers {
		if owner, ok := ownerOf(obj); ok {
			return obj, owner, nil
		}
		ref := metav1.GetControllerOfNoCopy(obj)
		if ref == nil {
			break
		}
		made := &unstructured.Unstructured{}
		made.SetAPIVersion(ref.APIVersion)
		made.SetKind(ref.Kind)
		if err := c.Get(ctx, client.ObjectKey{Namespace: obj.GetNamespace(), Name: ref.Name}, made); err != nil {
			return nil, manifests.Owner{}, err
		}
		obj = made
		w.Through = append(w.Through, objectOf(obj).String())
	}
	return nil, manifests.Owner{}, exit.Refuse("%s is no dependent of a component, and was not made for one", w.Object)
}

// ownerOf reads the marks of a dependent. A label alone is none: controllers copy them.
func ownerOf(obj *unstructured.Unstructured) (manifests.Owner, bool) {
	for key, text := range obj.GetAnnotations() {
		reconciler, isMark := strings.CutSuffix(key, "/"+manifests.AnnotationOwnerID)
		if !isMark {
			continue
		}
		owner, ok := manifests.ParseOwner(text)
		if ok && owner.Reconciler == reconciler && obj.GetLabels()[reconciler+"/"+manifests.LabelOwnerID] == owner.ID() {
			return owner, true
		}
	}
	return manifests.Owner{}, false
}

// explain says what the component tells of its dependent.
func (a *app) explain(
	ctx context.Context, c *cluster.Cluster, dependent *unstructured.Unstructured, owner manifests.Owner, path changes.Path, w *show.Why,
) error {
	w.Component, w.Reconciler = owner.Component().String(), owner.Reconciler
	w.Settings = manifestSettings(dependent, owner.Reconciler)
	mapping, err := c.ResolveType(owner.Kind + "." + owner.Group)
	if err != nil {
		w.Unknown = append(w.Unknown, "its component: "+exit.Line(err))
		return nil
	}
	target := cluster.Target{Mapping: mapping, Namespace: owner.Namespace, Name: owner.Name}
	obj := target.Blank()
	if err := c.Get(ctx, client.ObjectKeyFromObject(obj), obj); apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		w.Unknown = append(w.Unknown, "its component, which may live in another cluster: "+exit.Line(err))
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
func recall(ctx context.Context, c *cluster.Cluster, target cluster.Target, obj, dependent *unstructured.Unstructured, w *show.Why) error {
	status, err := cluster.StatusIfAny(target, obj)
	if err != nil {
		return err
	}
	w.Revision = status.Revision
	inventory, err := component.Inventory(ctx, c, &status)
	if err != nil {
		w.Unknown = append(w.Unknown, "part of the record: "+exit.Line(err))
	}
	for _, e := range inventory {
		if e.UID == dependent.GetUID() {
			w.Recorded, w.Wave, w.DeleteWave = true, e.Order, e.EffectiveDeleteOrder()
		}
	}
	return nil
}

// trace renders the component to see which file and values a dependent is from.
func (a *app) trace(ctx context.Context, c *cluster.Cluster, obj, dependent *unstructured.Unstructured, path changes.Path, w *show.Why) error {
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
		w.Unknown = append(w.Unknown, "file and values: "+exit.Line(err))
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
		w.Unknown = append(w.Unknown, "file and values: "+exit.Line(err))
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
		w.Field.Rendered, w.Field.Differs = set, set && !reflect.DeepEqual(rendered, live)
	}
	return nil
}
