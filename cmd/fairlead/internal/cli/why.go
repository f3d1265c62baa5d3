package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/changes"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/show"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

const whyHelp = `Show where the object TYPE/NAME comes from: the component that it is a dependent of, its wave and settings, the file of the source that
renders it, and the values that have a part in it. An object that a controller made, such as a Pod, leads to the dependent that it was made for.

With --field PATH it is about one field, such as spec.containers[web].image: who manages it, whether the manifest sets it, and by which values.

The values are found by rendering the component again, with each of them changed, for 15 seconds at the most; a function is called only once,
and its values are not searched. What cannot be told is said so.`

func (a *app) newWhy() *cobra.Command {
	var output, field string
	cmd := &cobra.Command{
		Use:   "why TYPE/NAME",
		Short: "Show where an object comes from",
		Long:  whyHelp,
		Args:  takes(0, "the object (TYPE/NAME)"),
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
	f, err := a.find(ctx, name)
	if err != nil {
		return err
	}
	c, live := f.cluster, f.obj
	w := explanation{Why: show.Why{Object: objectOf(live)}}
	if path != nil {
		if w.Field, err = fieldOf(f.target, live, path); err != nil {
			return err
		}
	}
	dependent, owner, err := a.dependent(ctx, c, live, &w)
	if err != nil {
		return err
	}
	if dependent != live {
		// What is rendered is the dependent, of which the field is none: it is known that no manifest sets it.
		path = nil
		if w.Field != nil {
			w.Field.Unknown = false
		}
	}
	if err := a.explain(ctx, c, dependent, owner, path, &w); err != nil {
		return err
	}
	if err := w.Print(out); err != nil {
		return err
	}
	return w.hidden
}

func objectOf(obj *unstructured.Unstructured) show.WhyObject {
	gvk := obj.GroupVersionKind()
	return show.WhyObject{Group: gvk.Group, Kind: gvk.Kind, Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

func fieldOf(target cluster.Target, live *unstructured.Unstructured, path changes.Path) (*show.WhyField, error) {
	value, found := path.At(live)
	if !found {
		return nil, exit.Refuse("%s has no field %s", target, path.In(live))
	}
	if changes.IsSecret(live) {
		value = "***"
	}
	return &show.WhyField{Path: path.In(live), Value: value, Unknown: true, Managers: changes.Managers(live, path)}, nil
}

// maxControllers bounds how many controllers one after the other are asked for their objects.
const maxControllers = 8

// dependent returns the dependent that an object is, or was made for by controllers, and who owns it.
func (a *app) dependent(
	ctx context.Context, c *cluster.Cluster, live *unstructured.Unstructured, w *explanation,
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
