package rendering

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/marks"
	"github.com/fairlead-io/fairlead/pkg/component/internal/apiservertest"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// restored stores the ConfigMap a with a value and the marks of an owner.
func (s *scene) restored(o manifests.Owner, value map[string]any) { s.copied(o, "a", value) }

// copied stores the ConfigMap a with a value and the marks of a ConfigMap of an owner.
func (s *scene) copied(o manifests.Owner, from string, value map[string]any) {
	s.Put("v1", "ConfigMap", "shop", "a", map[string]any{
		"metadata": map[string]any{"namespace": "shop", "name": "a", "annotations": map[string]any{
			reconciler + "/" + manifests.AnnotationOwnerID: o.String(),
			reconciler + "/" + marks.AnnotationObject:      "ConfigMap shop/" + from,
		}},
		"data": value,
	})
}

func TestGeneratedValuesOfACopyAreKept(t *testing.T) {
	s := newScene(t)
	s.random()
	s.copied(owner, "former", map[string]any{"value": "kept"})
	if set, _, err := s.render(); err != nil || s.valueOf(set) != "kept" {
		t.Errorf("the value is %q; error %v", s.valueOf(set), err)
	}
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
		{
			"in the same cluster", owner, kept, nil, "kept",
			"values of existing objects that are kept: ConfigMap a: data.value",
		},
		{"from another cluster", moved, kept, nil, "kept", "are kept: ConfigMap a: data.value"},
		{"that a search for the owner label found", owner, kept, []metav1alpha1.InventoryEntry{entry}, "kept", "are kept"},
		{
			"unless they were applied here, and the inputs changed", owner, kept,
			[]metav1alpha1.InventoryEntry{written},
			"random-1", "",
		},
		{"unless they belong to another component", other, kept, nil, "random-1", ""},
		{
			"unless they lack the field, which is reported", owner, nil, nil, "random-1",
			"that get new values: ConfigMap a: data.value",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(t)
			s.random()
			s.restored(c.owner, c.live)
			s.request.Inventory = c.inventory
			set, _, err := s.render()
			if err != nil || s.valueOf(set) != c.value || !strings.Contains(set.Lost, c.why) ||
				(c.why == "") != (set.Lost == "") {
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
					reconciler + "/" + marks.AnnotationReleasedBy: c.released.String(),
				}},
				"data": map[string]any{"value": "kept"},
			})
			if set, _, err := s.render(); err != nil || s.valueOf(set) != c.value {
				t.Errorf("the value is %q, want %q; error %v", s.valueOf(set), c.value, err)
			}
		})
	}
}

func TestGeneratedValuesOfAnObjectThatComesBackIntoAPinnedRenderingAreKept(t *testing.T) {
	other := owner
	other.Name = "other"
	for _, c := range []struct {
		name     string
		released manifests.Owner
		value    string
	}{
		{"if the component released it", owner, "kept"},
		{"unless another component released it", other, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(t)
			n := 0
			s.generate = func(ctx context.Context, req generator.Request) ([]client.Object, error) {
				n++
				value, err := lookUp(ctx, req.Target)
				objects := []client.Object{settings("b", fmt.Sprintf("random-%d", n))}
				if value != "" {
					objects = append(objects, settings("a", fmt.Sprintf("random-%d", n)))
				}
				return objects, client.IgnoreNotFound(err)
			}
			s.apply()
			s.Put("v1", "ConfigMap", "shop", "a", map[string]any{
				"metadata": map[string]any{"namespace": "shop", "name": "a", "annotations": map[string]any{
					reconciler + "/" + marks.AnnotationReleasedBy: c.released.String(),
				}},
				"data": map[string]any{"value": "kept"},
			})
			s.put("1")
			s.restart()
			s.Requests() // The first rendering reads all objects with such values.
			set, _, err := s.render()
			if err != nil || s.valueOf(set) != c.value || strings.HasSuffix(set.Note, notFollowed) != (c.value == "") {
				t.Errorf("the value is %q, want %q; the note is %q; error %v", s.valueOf(set), c.value, set.Note, err)
			}
			if told := strings.HasSuffix(set.Lost, "that are kept: ConfigMap a: data.value"); told != (c.value != "") {
				t.Errorf("the report is %q", set.Lost)
			}
			for _, r := range s.Requests() {
				if strings.HasSuffix(r.Path, "/configmaps/b") {
					t.Errorf("an object of the pinned rendering was read: %s %s", r.Method, r.Path)
				}
			}
		})
	}
}

func TestGeneratedValuesOfAnObjectThatIsTakenBackAreKept(t *testing.T) {
	other := owner
	other.Name = "other"
	for _, c := range []struct {
		name   string
		policy metav1alpha1.AdoptionPolicy
		owner  manifests.Owner
		value  string
		reads  int
	}{
		{"from another component that took it over", metav1alpha1.AdoptAlways, other, "kept", 2},
		{"unless nobody took it over", metav1alpha1.AdoptAlways, owner, "random-1", 1},
		{"unless the policy does not take it back, then it is not read", metav1alpha1.AdoptIfUnowned, other, "random-1", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(t)
			s.random()
			s.restored(c.owner, map[string]any{"value": "kept"})
			s.request.Adoption = c.policy
			s.request.Inventory = []metav1alpha1.InventoryEntry{
				{Version: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "a", Digest: "1"},
			}
			set, _, err := s.render()
			if err != nil || s.valueOf(set) != c.value {
				t.Errorf("the value is %q, want %q; error %v", s.valueOf(set), c.value, err)
			}
			reads := 0
			for _, r := range s.Requests() {
				if strings.HasSuffix(r.Path, "/configmaps/a") {
					reads++
				}
			}
			if reads != c.reads {
				t.Errorf("the object was read by %d requests, want %d", reads, c.reads)
			}
		})
	}
}
