package explain

import (
	"cmp"
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/componentexternals"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/show"
	"github.com/fairlead-io/fairlead/internal/operator"
	"github.com/fairlead-io/fairlead/pkg/component/external"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// External explains a dependent outside Kubernetes, given by its name, as Kind/name or Kind.external.fairlead.io/name.
// It searches the components of all types in the namespace of c. found is false if none of them has such an external.
func External(
	ctx context.Context, c *cluster.Cluster, rendering Rendering, name string,
) (r Result, found bool, err error) {
	kind, name, _ := strings.Cut(name, "/")
	kind = strings.TrimSuffix(kind, "."+external.Group)
	err = cluster.EachComponent(ctx, c, c.Namespace, func(o cluster.Object, status metav1alpha1.Status) error {
		of, err := componentexternals.Of(ctx, o)
		if err != nil {
			return err
		}
		for _, e := range of.Externals {
			if found || !strings.EqualFold(e.Key.Kind, kind) || e.Key.Name != name {
				continue
			}
			found = true
			r = Result{Why: show.Why{Object: show.WhyObject{Group: e.Key.Group, Kind: e.Key.Kind, Name: e.Key.Name}}}
			if of.Unread != nil {
				r.unknown("id and settings", of.Unread)
			}
			ex := explainer{cluster: c, rendering: rendering, dependent: bodyOf(e), result: &r}
			if err := ex.explain(ctx, ownerIn(o, status)); err != nil {
				return err
			}
			if e.Reason != "" {
				r.NotUpdated = e.Reason + ": " + e.Message
			}
		}
		return nil
	})
	if found {
		err = nil // The component of a type that cannot be listed has another external.
	}
	return r, found, err
}

// ownerIn returns a component as the owner of its dependents.
func ownerIn(o cluster.Object, status metav1alpha1.Status) manifests.Owner {
	gvk := o.Target.Mapping.GroupVersionKind
	return manifests.Owner{
		Reconciler: cmp.Or(status.Reconciler, operator.ReconcilerName), Group: gvk.Group, Kind: gvk.Kind,
		Namespace: o.Target.Namespace, Name: o.Target.Name,
	}
}

// bodyOf returns an external in the form of a live object: the manifest that was applied last, with the token as UID.
func bodyOf(e componentexternals.External) *unstructured.Unstructured {
	body := &unstructured.Unstructured{Object: map[string]any{}}
	if e.Record == nil || json.Unmarshal(e.Record.Manifest, &body.Object) != nil || body.Object == nil {
		body.Object = map[string]any{}
	}
	body.SetAPIVersion(external.Group + "/" + external.Version)
	body.SetKind(e.Key.Kind)
	body.SetName(e.Key.Name)
	body.SetUID(e.UID)
	return body
}

// NotExternal is the error for a name that no external has.
func NotExternal(c *cluster.Cluster, name string) error {
	return exit.Refuse(
		"no component in namespace %q has the external %s; fairlead external list shows those of a component",
		c.Namespace, name)
}
