package rendering

import (
	"context"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/apiservertest"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// restored stores the ConfigMap a with a value and the marks of an owner.
func (s *scene) restored(o manifests.Owner, value map[string]any) {
	s.Put("v1", "ConfigMap", "shop", "a", map[string]any{
		"metadata": map[string]any{
			"namespace": "shop", "name": "a", "annotations": map[string]any{reconciler + "/" + manifests.AnnotationOwnerID: o.String()},
		},
		"data": value,
	})
}

func TestGeneratedValuesOfRestoredObjectsAreKept(t *testing.T) {
	moved, other := owner, owner
	moved.Cluster, other.Name = "former", "other"
	entry := metav1alpha1.InventoryEntry{Version: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "a"}
	written := entry
	written.Digest = "1"
	kept := map[string]any{"value": "kept"}
	for _, c := range []struct {
		name       string
		owner      manifests.Owner
		live       map[string]any
		inventory  []metav1alpha1.InventoryEntry
		value, why string
	}{
		{"in the same cluster", owner, kept, nil, "kept", "values of existing objects that are kept: ConfigMap a: data.value"},
		{"from another cluster", moved, kept, nil, "kept", "are kept: ConfigMap a: data.value"},
		{"that a search for the owner label found", owner, kept, []metav1alpha1.InventoryEntry{entry}, "kept", "are kept"},
		{"unless they were applied here, and the inputs changed", owner, kept, []metav1alpha1.InventoryEntry{written}, "random-1", ""},
		{"unless they belong to another component", other, kept, nil, "random-1", ""},
		{"unless they lack the field, which is reported", owner, nil, nil, "random-1", "that get new values: ConfigMap a: data.value"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(t)
			s.random()
			s.restored(c.owner, c.live)
			s.request.Inventory = c.inventory
			set, _, err := s.render()
			if err != nil || s.valueOf(set) != c.value || !strings.Contains(set.Lost, c.why) || (c.why == "") != (set.Lost == "") {
				t.Errorf("the value is %q, want %q; Lost is %q; error %v", s.valueOf(set), c.value, set.Lost, err)
			}
			if again, _, err := s.render(); err != nil || s.valueOf(again) != c.value || again.Lost != "" {
				t.Errorf("the next pass has the value %q, and reports %q; error %v", s.valueOf(again), again.Lost, err)
			}
		})
	}
}

func TestGeneratedValuesOfObjectsThatAreTakenOverAreKept(t *testing.T) {
	other := owner
	other.Name = "other"
	for _, c := range []struct {
		name                            string
		reconciler, component, manifest metav1alpha1.AdoptionPolicy
		value                           string
	}{
		{"by the policy of the reconciler", metav1alpha1.AdoptAlways, "", "", "kept"},
		{"by the policy of the component", "", metav1alpha1.AdoptAlways, "", "kept"},
		{"by the policy of the manifest", "", metav1alpha1.AdoptNever, metav1alpha1.AdoptAlways, "kept"},
		{"unless the component has another policy", metav1alpha1.AdoptAlways, metav1alpha1.AdoptIfUnowned, "", "random-1"},
		{"unless the manifest has another policy", "", metav1alpha1.AdoptAlways, metav1alpha1.AdoptIfUnowned, "random-1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(t)
			s.options.Adoption, s.request.Adoption = c.reconciler, c.component
			s.restart()
			s.random()
			if generate := s.generate; c.manifest != "" {
				s.generate = func(ctx context.Context, req generator.Request) ([]client.Object, error) {
					objects, err := generate(ctx, req)
					for _, o := range objects {
						o.SetAnnotations(map[string]string{reconciler + "/" + manifests.AnnotationAdoptionPolicy: string(c.manifest)})
					}
					return objects, err
				}
			}
			s.restored(other, map[string]any{"value": "kept"})
			if set, _, err := s.render(); err != nil || s.valueOf(set) != c.value {
				t.Errorf("the value is %q, want %q; error %v", s.valueOf(set), c.value, err)
			}
		})
	}
}

func TestARestoredObjectThatCannotBeReadIsNotReplaced(t *testing.T) {
	s := newScene(t)
	s.random()
	s.restored(owner, map[string]any{"value": "kept"})
	reads := 0
	s.Refuse(func(r apiservertest.Request) error {
		if r.Method != http.MethodGet || !strings.HasSuffix(r.Path, "/configmaps/a") {
			return nil
		}
		// The first request reads the metadata.
		if reads++; reads == 2 {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "a", nil)
		}
		return nil
	})
	_, _, err := s.render()
	expect(t, err, metav1alpha1.ReasonForbidden, true, "read ConfigMap a, whose generated values have to be kept")
}

func TestGeneratedValuesOfReleasedObjectsAreKept(t *testing.T) {
	other, elsewhere := owner, owner
	other.Name, elsewhere.Cluster = "other", "former"
	for _, c := range []struct {
		name     string
		released manifests.Owner
		value    string
	}{
		{"if the component released them", owner, "kept"},
		{"unless another component released them", other, "random-1"},
		{"unless they were released in another cluster", elsewhere, "random-1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(t)
			s.random()
			s.Put("v1", "ConfigMap", "shop", "a", map[string]any{
				"metadata": map[string]any{"namespace": "shop", "name": "a", "annotations": map[string]any{
					reconciler + "/" + manifests.AnnotationReleasedBy: c.released.String(),
				}},
				"data": map[string]any{"value": "kept"},
			})
			if set, _, err := s.render(); err != nil || s.valueOf(set) != c.value {
				t.Errorf("the value is %q, want %q; error %v", s.valueOf(set), c.value, err)
			}
		})
	}
}
