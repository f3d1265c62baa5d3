package explain

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/externals"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/show"
	"github.com/fairlead-io/fairlead/internal/operator"
	"github.com/fairlead-io/fairlead/pkg/component/external"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// External explains a dependent outside Kubernetes, given by its name, as Kind/name or Kind.external.fairlead.io/name.
// It searches the components of the ready-made operator in the namespace of c. found is false if none of them has such
// an external.
func External(
	ctx context.Context, c *cluster.Cluster, rendering Rendering, name string,
) (r Result, found bool, err error) {
	mapping, err := c.ResolveType("Component." + v1alpha1.GroupVersion.Group)
	if err != nil {
		return Result{}, false, err
	}
	kind, name, _ := strings.Cut(name, "/")
	kind = strings.TrimSuffix(kind, "."+external.Group)
	err = c.List(ctx, mapping, c.Namespace, func(obj *unstructured.Unstructured) error {
		target := cluster.Target{Mapping: mapping, Namespace: obj.GetNamespace(), Name: obj.GetName()}
		of, err := externals.Of(ctx, cluster.Object{Cluster: c, Target: target, Live: obj})
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
			if err := ex.explain(ctx, ownerOfExternal(obj)); err != nil {
				return err
			}
			if e.Reason != "" {
				r.NotUpdated = e.Reason + ": " + e.Message
			}
		}
		return nil
	})
	return r, found, err
}

// ownerOfExternal returns the owner of the externals of a component of the ready-made operator.
func ownerOfExternal(obj *unstructured.Unstructured) manifests.Owner {
	return manifests.Owner{
		Reconciler: operator.ReconcilerName, Group: v1alpha1.GroupVersion.Group, Kind: "Component",
		Namespace: obj.GetNamespace(), Name: obj.GetName(),
	}
}

// bodyOf returns an external in the form of a live object: the manifest that was applied last, with the token as UID.
func bodyOf(e externals.External) *unstructured.Unstructured {
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
