package protect

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/apiservertest"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

var namespace = metav1alpha1.InventoryEntry{Version: "v1", Kind: "Namespace", Name: "shop", UID: "namespace"}

// checkNamespace calls Check with a plan that deletes the namespace shop, and returns the contents of the namespace.
func checkNamespace(t *testing.T, p *Protector, f plan.Facts) plan.Contents {
	t.Helper()
	decided := plan.Plan{
		Inventory: f.Inventory, Actions: []plan.Action{{Verb: plan.VerbDelete, Key: plan.KeyOf(namespace)}},
	}
	if !p.Check(t.Context(), f, decided, map[manifests.Key]bool{}) {
		t.Error("the contents of the namespace were not listed")
	}
	return f.Contents["shop"]
}

func TestContentsOfANamespace(t *testing.T) {
	server, p := newProtector(t)
	server.Put("v1", "ConfigMap", "shop", "kube-root-ca.crt", nil)
	server.Put("v1", "Event", "shop", "started", nil)
	server.Put("v1", "ConfigMap", "default", "elsewhere", nil)
	settings := server.Put("v1", "ConfigMap", "shop", "settings", nil)
	entry := metav1alpha1.InventoryEntry{
		Version: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "settings", UID: settings.GetUID(),
	}
	if diff := cmp.Diff(plan.Contents{Keys: nil}, checkNamespace(t, p, deleting(namespace, entry))); diff != "" {
		t.Error(diff)
	}
	server.Put("example.com/v1", "Widget", "shop", "theirs", nil)
	server.Put("v1", "Secret", "shop", "theirs", nil)
	want := plan.Contents{Count: 2, Keys: []manifests.Key{
		{Kind: "Secret", Namespace: "shop", Name: "theirs"},
		{Group: "example.com", Kind: "Widget", Namespace: "shop", Name: "theirs"},
	}}
	if diff := cmp.Diff(want, checkNamespace(t, p, deleting(namespace, entry))); diff != "" {
		t.Error(diff)
	}
	t.Run("a dependent with the delete policy orphan blocks the deletion of the namespace", func(t *testing.T) {
		kept := entry
		kept.DeletePolicy = metav1alpha1.DeleteOrphan
		if got := checkNamespace(t, p, deleting(namespace, kept)); got.Count != 3 {
			t.Errorf("want 3 objects in the namespace, got %+v", got)
		}
	})
	t.Run("a dependent that is still rendered blocks the deletion of the namespace", func(t *testing.T) {
		f := deleting(namespace, entry)
		f.Desired = []manifests.Object{{Key: plan.KeyOf(entry)}}
		if got := checkNamespace(t, p, f); got.Count != 3 {
			t.Errorf("want 3 objects in the namespace, got %+v", got)
		}
	})
}

func TestAllPagesOfTheContentsAreRead(t *testing.T) {
	server, p := newProtector(t)
	server.Page(1)
	server.Put("v1", "ConfigMap", "shop", "kube-root-ca.crt", nil)
	server.Put("v1", "ConfigMap", "shop", "settings", nil)
	server.Put("v1", "ConfigMap", "shop", "theirs", nil)
	if got := checkNamespace(t, p, deleting(namespace)); got.Count != 2 || got.Failure != nil {
		t.Errorf("the contents are %+v, want the objects of all pages", got)
	}
}

// A controller in the namespace is listed itself. Nothing else shows that an object belongs to a controller elsewhere.
func TestObjectsOfAControllerInAnOwnedNamespace(t *testing.T) {
	owned := namespace
	owned.DeletePolicy = metav1alpha1.DeleteIfEmpty
	for _, c := range []struct {
		name       string
		controller map[string]any
		entry      metav1alpha1.InventoryEntry
		want       int
	}{
		{
			"a controller in the namespace", map[string]any{"apiVersion": "example.com/v1", "kind": "Widget"}, owned, 0,
		},
		{"a controller without a namespace", map[string]any{"apiVersion": "v1", "kind": "Namespace"}, owned, 1},
		{
			"a controller of a type that is not served",
			map[string]any{"apiVersion": "example.org/v1", "kind": "Tenant"},
			owned, 1,
		},
		{"a controller whose objects are not listed", map[string]any{"apiVersion": "v1", "kind": "Event"}, owned, 1},
		{
			"a controller without a namespace, in a namespace that is a dependent",
			map[string]any{"apiVersion": "v1", "kind": "Namespace"},
			namespace, 0,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			server, p := newProtector(t)
			c.controller["name"], c.controller["uid"], c.controller["controller"] = "blue", "u", true
			server.Put("v1", "ConfigMap", "shop", "made", map[string]any{
				"metadata": map[string]any{"ownerReferences": []any{c.controller}},
			})
			if got := checkNamespace(t, p, deleting(c.entry)); got.Count != c.want || got.Failure != nil {
				t.Errorf("the contents are %+v, want %d objects", got, c.want)
			}
		})
	}
}

func TestContentsThatCannotBeListed(t *testing.T) {
	widgetResource := schema.GroupResource{Group: "example.com", Resource: "widgets"}
	for _, c := range []struct {
		name   string
		change func(*apiservertest.Server)
		class  plan.FailureClass
		want   []string
	}{
		{
			"a forbidden list of the contents is a terminal failure", func(s *apiservertest.Server) {
				s.Refuse(func(r apiservertest.Request) error {
					if strings.HasSuffix(r.Path, "/namespaces/shop/widgets") {
						return apierrors.NewForbidden(widgetResource, "", errors.New("no right"))
					}
					return nil
				})
			}, plan.Terminal, []string{
				"the objects that would be deleted with the namespace could not be listed: ", "widgets.example.com",
				"grant the right to list all types in the namespace; if you delete the namespace yourself, Kubernetes also " +
					"deletes all objects in it",
			},
		},
		{
			"a failed list of the contents is retried", func(s *apiservertest.Server) {
				s.Refuse(func(r apiservertest.Request) error {
					if strings.HasSuffix(r.Path, "/namespaces/shop/widgets") {
						return apierrors.NewInternalError(errors.New("broken"))
					}
					return nil
				})
			}, plan.Transient, []string{"the objects that would be deleted with the namespace could not be listed: ", "broken"},
		},
		{
			"a failed discovery is retried", func(s *apiservertest.Server) { s.Break("example.com/v1") },
			plan.Transient,
			[]string{"the objects that would be deleted with the namespace could not be listed: ", "example.com/v1"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			server, p := newProtector(t)
			c.change(server)
			got := checkNamespace(t, p, deleting(namespace))
			if got.Failure == nil || got.Failure.Class != c.class || got.Count != 0 {
				t.Fatalf("the failed check of the namespace returned %+v", got)
			}
			for _, text := range c.want {
				if !strings.Contains(got.Failure.Message, text) {
					t.Errorf("the failure has the message %q, want %q", got.Failure.Message, text)
				}
			}
			if c.class == plan.Transient && strings.Contains(got.Failure.Message, "allow to list") {
				t.Errorf("the message must not ask for a right after a temporary failure: %q", got.Failure.Message)
			}
		})
	}
}
