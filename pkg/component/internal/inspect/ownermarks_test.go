package inspect

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestReplacedOwnerLabel(t *testing.T) {
	const other = "other.example.com"
	them := manifests.Owner{Cluster: "c", Reconciler: reconciler, Kind: "Shop", Namespace: "a", Name: "them"}
	elsewhere := manifests.Owner{Cluster: "c", Reconciler: other, Kind: "Shop", Namespace: "a", Name: "them"}
	marks := func(name string) string {
		return "{f:metadata: {f:labels: {f:" + name + "/owner-id: {}}, f:annotations: {f:" + name + "/owner-id: {}}}}"
	}
	label := func(name string) string { return "{f:metadata: {f:labels: {f:" + name + "/owner-id: {}}}}" }
	const rest = "{f:metadata: {f:annotations: {f:" + reconciler + "/digest: {}, f:" + reconciler +
		"/owner-id: {}}}, f:data: {}}"
	digest := "{f:metadata: {f:labels: {f:" + other + "/owner-id: {}}, f:annotations: {f:" + other + "/digest: {}}}}"
	for _, c := range []struct {
		name    string
		owner   manifests.Owner
		entries []metav1.ManagedFieldsEntry
		owned   bool
	}{
		{
			"its reconciler wrote the label", them,
			[]metav1.ManagedFieldsEntry{entry(t, reconciler, apply, marks(reconciler))},
			true,
		},
		{"its reconciler wrote the label by an update, before its apply", them, []metav1.ManagedFieldsEntry{
			entry(t, reconciler, update, marks(reconciler)), entry(t, reconciler, apply, rest),
		}, true},
		{"another client replaced label and annotation", them, []metav1.ManagedFieldsEntry{
			entry(t, reconciler, apply, "{f:data: {}}"), entry(t, "kubectl-patch", update, marks(reconciler)),
		}, false},
		{"one client replaced the label, another one the annotation", them, []metav1.ManagedFieldsEntry{
			entry(t, reconciler, apply, "{f:data: {}}"), entry(t, "kubectl-label", update, label(reconciler)),
			entry(t, "kubectl-annotate", update, "{f:metadata: {f:annotations: {f:"+reconciler+"/owner-id: {}}}}"),
		}, false},
		{"another client replaced the label of an object that is updated by PUT", them, []metav1.ManagedFieldsEntry{
			entry(t, reconciler, update, rest), entry(t, "kubectl-label", update, label(reconciler)),
		}, false},
		{"another client applied an equal label", them, []metav1.ManagedFieldsEntry{
			entry(t, reconciler, apply, marks(reconciler)), entry(t, "argocd-controller", apply, marks(reconciler)),
		}, true},
		{"another client created the object with its marks, as a restore does", them, []metav1.ManagedFieldsEntry{
			entry(t, "velero", update, marks(reconciler)),
		}, true},
		{"the API server joined old entries", them, []metav1.ManagedFieldsEntry{
			entry(t, reconciler, apply, "{f:data: {}}"), entry(t, AncientManager, update, marks(reconciler)),
		}, true},
		{"nobody owns the label", them, []metav1.ManagedFieldsEntry{entry(t, reconciler, apply, "{f:data: {}}")}, true},
		{"the object has no managed fields", them, nil, true},
		{"only an entry of a subresource is ours", them, []metav1.ManagedFieldsEntry{
			{Manager: reconciler, Operation: update, Subresource: "status"},
			entry(t, "kubectl-patch", update, marks(reconciler)),
		}, true},
		{"another reconciler took the object over", elsewhere, []metav1.ManagedFieldsEntry{
			entry(t, reconciler, apply, "{f:data: {}}"), entry(t, other, update, marks(other)),
		}, true},
		{"another reconciler with a field owner of its own took it over", elsewhere, []metav1.ManagedFieldsEntry{
			entry(t, reconciler, apply, "{f:data: {}}"), entry(t, "theirs", apply, digest),
		}, true},
		{"another client marked it for another reconciler", elsewhere, []metav1.ManagedFieldsEntry{
			entry(t, reconciler, apply, "{f:data: {}}"), entry(t, "kubectl-patch", update, marks(other)),
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := object(t, live)
			key := c.owner.Reconciler + "/owner-id"
			o.SetLabels(map[string]string{key: c.owner.ID()})
			o.SetAnnotations(map[string]string{key: c.owner.String()})
			o.SetManagedFields(c.entries)
			got := Metadata(o, reconciler)
			if owned := got.Owner == c.owner.ID() && got.OwnerName == c.owner.String(); owned != c.owned || !owned &&
				got.Owner != "" {
				t.Errorf("the object has the owner %q (%s)", got.Owner, got.OwnerName)
			}
			mark := ToolMarkOf(manifests.Key{Kind: "ConfigMap", Namespace: "shop", Name: "settings"}, o, reconciler)
			if known := mark.By == ""; known != c.owned {
				t.Errorf("the object has the mark %q", mark.By)
			}
		})
	}
	t.Run("the message names the client", func(t *testing.T) {
		o := object(t, live)
		o.SetManagedFields([]metav1.ManagedFieldsEntry{
			entry(t, reconciler, apply, "{f:data: {}}"),
			entry(t, "kubectl-label", update, label(reconciler)),
		})
		want := "a component whose owner label another client has replaced (field manager kubectl-label)"
		if got := ToolMarkOf(manifests.Key{Kind: "ConfigMap", Namespace: "shop", Name: "settings"}, o, reconciler).
			By; got != want {
			t.Errorf("got %q", got)
		}
	})
}
