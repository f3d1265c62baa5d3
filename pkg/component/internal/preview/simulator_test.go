package preview

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/apiservertest"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestObjectsAreCreatedInWaves(t *testing.T) {
	c := newCluster(t)
	c.desire(configMap("second", "1", manifests.AnnotationOrder, "1"), configMap("b", "1"), configMap("a", "1"))
	f := c.preview()
	expect(t, f, "1 Create a", "1 Create b", "2 Create second")
	if f.Desired != 3 || f.Unchanged != 0 {
		t.Errorf("the forecast must have 3 desired and no unchanged objects, got %+v", f)
	}
	if s := f.Steps[0]; s.Before != nil || s.After == nil || s.Manifest == nil {
		t.Errorf("a created object must have no state before the step, got %+v", s)
	}
	if data, _, _ := unstructured.NestedString(f.Steps[0].After.Object, "data", "value"); data != "1" {
		t.Errorf("the preview has the wrong created object %v", f.Steps[0].After.Object)
	}
}

func TestAnAppliedSetNeedsNoStep(t *testing.T) {
	c := newCluster(t)
	c.desire(configMap("a", "1"), configMap("b", "1"))
	c.apply()
	f := c.preview()
	expect(t, f)
	if f.Desired != 2 || f.Unchanged != 2 {
		t.Errorf("the forecast must have 2 desired objects, which are unchanged, got %+v", f)
	}
}

func TestAChangedSetIsUpdatedAndPruned(t *testing.T) {
	c := newCluster(t)
	c.desire(configMap("a", "1"), configMap("b", "1"), configMap("c", "1"))
	c.apply()
	c.desire(configMap("a", "2"), configMap("b", "1"))
	c.request.Revision = 2
	f := c.preview()
	expect(t, f, "1 Update a", "2 Prune c")
	if f.Unchanged != 1 {
		t.Errorf("the preview counts %d unchanged objects, want 1", f.Unchanged)
	}
	before, _, _ := unstructured.NestedString(f.Steps[0].Before.Object, "data", "value")
	after, _, _ := unstructured.NestedString(f.Steps[0].After.Object, "data", "value")
	if before != "1" || after != "2" || f.Steps[1].Before == nil || f.Steps[1].Manifest != nil {
		t.Errorf("the step has the value %q before and %q after, and is %+v", before, after, f.Steps[1])
	}
}

func TestARecreatedObjectIsOneStep(t *testing.T) {
	c := newCluster(t)
	c.desire(configMap("a", "1", manifests.AnnotationUpdatePolicy, string(metav1alpha1.UpdateRecreate)))
	c.apply()
	c.desire(configMap("a", "2", manifests.AnnotationUpdatePolicy, string(metav1alpha1.UpdateRecreate)))
	c.request.Revision = 2
	f := c.preview()
	expect(t, f, "1 Recreate a")
	if s := f.Steps[0]; s.Before == nil || s.After == nil || s.Manifest == nil {
		t.Errorf("a recreated object must have a state before and after the step, got %+v", s)
	}
}

func TestAnUnownedObjectIsAdopted(t *testing.T) {
	c := newCluster(t)
	c.Put("v1", "ConfigMap", "shop", "a", map[string]any{"data": map[string]any{"value": "theirs"}})
	c.desire(configMap("a", "1"))
	expect(t, c.preview(), "1 Adopt a")
}

func TestAnAdoptionWhoseDryRunFailsIsAStepUnlessItCannotSucceed(t *testing.T) {
	kind := corev1.SchemeGroupVersion.WithKind("ConfigMap").GroupKind()
	for _, c := range []struct {
		name    string
		failure error
		want    []string
		unknown string
	}{
		{
			"a webhook refuses it now", apierrors.NewForbidden(corev1.Resource("configmaps"), "a", errors.New("not today")),
			[]string{`1 Adopt a: Forbidden: configmaps "a" is forbidden: not today`},
			`Forbidden: configmaps "a" is forbidden: not today`,
		},
		{"its manifest is invalid", apierrors.NewInvalid(kind, "a", nil), nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			cluster := newCluster(t)
			cluster.Put("v1", "ConfigMap", "shop", "a", map[string]any{"data": map[string]any{"value": "theirs"}})
			cluster.desire(configMap("a", "1"))
			cluster.Refuse(func(r apiservertest.Request) error {
				if r.Method == "PUT" {
					return c.failure
				}
				return nil
			})
			f := cluster.preview()
			expect(t, f, c.want...)
			if len(f.Waiting) != 1 || !f.Waiting[0].Failed {
				t.Errorf("the preview waits for %+v, want the failed object", f.Waiting)
			}
			if len(f.Steps) == 1 && (f.Steps[0].Adopts == nil || f.Steps[0].Adopts.Unknown != c.unknown) {
				t.Errorf("the step adopts %+v, want an adoption whose lost values are not known", f.Steps[0].Adopts)
			}
		})
	}
}

func TestObjectsInANewNamespaceOfANewTypeAreNotChecked(t *testing.T) {
	c := newCluster(t)
	definition := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"group": "gadgets.example.com", "names": map[string]any{"kind": "Gadget", "plural": "gadgets"}, "scope": "Namespaced",
		"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true}},
	}}}
	definition.SetAPIVersion("apiextensions.k8s.io/v1")
	definition.SetKind("CustomResourceDefinition")
	definition.SetName("gadgets.gadgets.example.com")
	c.desire(
		body("v1", "Namespace", "", "new", "", manifests.AnnotationOrder, "-1"), body("v1", "ConfigMap", "new", "a", "1"),
		definition, body("gadgets.example.com/v1", "Gadget", "shop", "g", "1"),
	)
	f := c.preview()
	var texts []string
	for _, s := range f.Steps {
		texts = append(texts, s.Key.Name+": "+s.Unchecked)
	}
	text := strings.Join(texts, "\n")
	for _, want := range []string{
		"new: ", "a: its namespace does not exist yet", "gadgets.gadgets.example.com: ", "g: its type is not defined yet",
	} {
		if !strings.Contains("\n"+text+"\n", "\n"+want+"\n") {
			t.Errorf("the preview has the steps %q, want also %q", text, want)
		}
	}
}

func TestATypeThatNothingDefinesIsWaitedFor(t *testing.T) {
	c := newCluster(t)
	c.desire(configMap("a", "1"), body("gadgets.example.com/v1", "Gadget", "shop", "g", "1"))
	f := c.preview()
	if len(f.Waiting) != 1 || !strings.Contains(f.Waiting[0].Dependent, "g") {
		t.Errorf("the preview waits for %+v, want only g", f.Waiting)
	}
	if len(f.Steps) != 1 || f.Steps[0].Key.Name != "a" || f.Unchanged != 0 {
		t.Errorf("the preview has the steps %+v, want only a, and nothing unchanged", f.Steps)
	}
}

func TestARecordedObjectWhoseTypeIsNotServedIsKept(t *testing.T) {
	for _, policy := range []string{"when-ready", "at-once"} {
		t.Run(policy, func(t *testing.T) {
			c := newCluster(t)
			c.desire(configMap("a", "1"), body("gadgets.example.com/v1", "Gadget", "shop", "g", "1", "prune-policy", policy))
			c.request.Inventory = []metav1alpha1.InventoryEntry{{
				Group: "gadgets.example.com", Version: "v1", Kind: "Gadget", Namespace: "shop", Name: "g", UID: "1", Digest: "d",
			}}
			f := c.preview()
			if len(f.Waiting) != 1 || f.Waiting[0].Reason != string(plan.WaitNotServed) {
				t.Errorf("the preview waits for %+v, want only g", f.Waiting)
			}
			if len(f.Steps) != 1 || f.Steps[0].Key.Name != "a" {
				t.Errorf("the preview has the steps %+v, want only a", f.Steps)
			}
		})
	}
}

// refuseDryRuns makes the API server refuse dry runs of an object with the given error.
func (c *cluster) refuseDryRuns(name string, answer error) {
	c.Refuse(func(r apiservertest.Request) error {
		if r.Method != http.MethodGet && r.DryRun && (strings.HasSuffix(r.Path, "/"+name) || r.Method == http.MethodPost) {
			return answer
		}
		return nil
	})
}

func TestARefusedWriteHoldsUpWhatFollows(t *testing.T) {
	c := newCluster(t)
	c.desire(configMap("a", "1"))
	c.apply()
	c.desire(configMap("a", "2"), configMap("second", "1", manifests.AnnotationOrder, "1"))
	c.request.Revision = 2
	c.Refuse(func(r apiservertest.Request) error {
		if r.DryRun && strings.HasSuffix(r.Path, "/a") {
			return apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("ConfigMap").GroupKind(), "a", nil)
		}
		return nil
	})
	f := c.preview()
	expect(t, f, "1 Create second, held")
	if len(f.Waiting) != 1 || !f.Waiting[0].Failed || f.Unchanged != 0 {
		t.Errorf("the forecast must have one failed object, got %+v", f)
	}
}

func TestWhatAnEarlierObjectMayMakeValidIsNoFailure(t *testing.T) {
	definition := func(value string) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
			"group": "gadgets.example.com", "names": map[string]any{"kind": "Gadget", "plural": "gadgets"},
			"scope":    "Namespaced",
			"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true}}, "value": value,
		}}}
		o.SetAPIVersion("apiextensions.k8s.io/v1")
		o.SetKind("CustomResourceDefinition")
		o.SetName("gadgets.gadgets.example.com")
		return o
	}
	webhook := body("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "", "w", "1")
	checking := body("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "", "w", "1")
	gadget := body("gadgets.example.com/v1", "Gadget", "shop", "g", "1")
	first := func(o *unstructured.Unstructured) *unstructured.Unstructured {
		o.SetAnnotations(map[string]string{reconciler + "/" + manifests.AnnotationOrder: "-1"})
		return o
	}
	for _, c := range []struct {
		name      string
		set       []*unstructured.Unstructured
		refused   string
		unchecked string
	}{
		{
			"a new definition of its type",
			[]*unstructured.Unstructured{definition("2"), gadget},
			"g",
			"its definition is written before it; the current definition refuses it: ",
		},
		{"no definition", []*unstructured.Unstructured{configMap("a", "1")}, "a", ""},
		{
			"what changes objects at admission",
			[]*unstructured.Unstructured{first(webhook), configMap("a", "1")},
			"a",
			"what changes objects at admission is written before it; without it, it is refused: ",
		},
		{
			"what only refuses objects at admission",
			[]*unstructured.Unstructured{first(checking), configMap("a", "1")},
			"a", "",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			cluster := newCluster(t)
			cluster.Serve("gadgets.example.com/v1", "gadgets", "Gadget", true)
			cluster.Serve("admissionregistration.k8s.io/v1", "mutatingwebhookconfigurations",
				"MutatingWebhookConfiguration", false)
			cluster.Serve("admissionregistration.k8s.io/v1", "validatingwebhookconfigurations",
				"ValidatingWebhookConfiguration", false)
			cluster.desire(c.set...)
			cluster.Refuse(func(r apiservertest.Request) error {
				if r.DryRun && strings.Contains(r.Path, map[string]string{"g": "/gadgets", "a": "/configmaps"}[c.refused]) {
					return apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("ConfigMap").GroupKind(), c.refused, nil)
				}
				return nil
			})
			f := cluster.preview()
			if c.unchecked == "" {
				if len(f.Waiting) != 1 || !f.Waiting[0].Refused {
					t.Fatalf("the preview waits for %+v, want the refused object", f.Waiting)
				}
				return
			}
			last := f.Steps[len(f.Steps)-1]
			if last.Key.Name != c.refused || !strings.HasPrefix(last.Unchecked, c.unchecked) || len(f.Waiting) > 0 {
				t.Errorf("the last step is %+v, and the preview waits for %+v", last, f.Waiting)
			}
		})
	}
}

func TestARightThatTheCallerLacksIsNoFailure(t *testing.T) {
	c := newCluster(t)
	c.desire(configMap("a", "1"))
	c.refuseDryRuns("a", apierrors.NewForbidden(corev1.Resource("configmaps"), "a",
		errors.New(`User "me" cannot create resource "configmaps" in API group "" in the namespace "shop"`)))
	f := c.preview()
	if len(f.Steps) != 1 || !strings.HasPrefix(f.Steps[0].Unchecked, "you lack a right for the dry run: ") ||
		f.Steps[0].After == nil {
		t.Errorf("the forecast has the wrong steps %+v", f.Steps)
	}
	if len(f.Waiting) != 0 {
		t.Errorf("the preview waits for %+v, want none", f.Waiting)
	}
}

func TestADeletionDeletesAndOrphans(t *testing.T) {
	c := newCluster(t)
	c.desire(configMap("a", "1"), configMap("b", "1", manifests.AnnotationDeletePolicy, string(metav1alpha1.DeleteOrphan)))
	c.apply()
	f := c.previewDelete()
	expect(t, f, "1 Delete a", "1 Release b")
	if f.Desired != 0 || f.Steps[0].Before == nil {
		t.Errorf("the forecast of a deletion has desired objects, or a step without the object before it: %+v", f)
	}
}

func TestADeletionAppliesItsPhases(t *testing.T) {
	c := newCluster(t)
	c.desire(configMap("a", "1"))
	c.apply()
	inPhase := func(name string, phase manifests.Phase) []manifests.Object {
		return c.normalise(configMap(name, "1", manifests.AnnotationPhase, string(phase)))
	}
	c.request.PreDelete = inPhase("before", manifests.PhasePreDelete)
	c.request.PostDelete = inPhase("after", manifests.PhasePostDelete)
	f := c.previewDelete()
	var steps []string
	for _, s := range f.Steps {
		steps = append(steps, string(s.Effect)+" "+s.Key.Name+" "+string(s.Phase))
	}
	text := strings.Join(steps, ", ")
	if !strings.HasPrefix(text, "Create before pre-delete, ") || !strings.Contains(text, "Delete a ") ||
		!strings.Contains(text, "Create after post-delete") {
		t.Errorf("the preview has the steps %q", text)
	}
}

func TestForeignInstancesBlockADeletion(t *testing.T) {
	c := newCluster(t)
	managed, err := manifests.NewManagedType("example.com", "Widget")
	if err != nil {
		t.Fatal(err)
	}
	c.desire(configMap("a", "1"))
	c.apply()
	c.request.Managed = []manifests.ManagedType{managed}
	c.Put("example.com/v1", "Widget", "shop", "theirs", nil)
	f := c.previewDelete()
	expect(t, f)
	if len(f.Blocked) != 1 || f.Blocked[0].Count != 1 {
		t.Errorf("the forecast must be blocked by one foreign instance, got %+v", f.Blocked)
	}
}

func TestADefinitionIsGuardedOnlyInTheSimulation(t *testing.T) {
	c := newCluster(t)
	definition := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"group": "example.com", "names": map[string]any{"kind": "Widget", "plural": "widgets"}, "scope": "Namespaced",
		"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true}},
	}}}
	definition.SetAPIVersion("apiextensions.k8s.io/v1")
	definition.SetKind("CustomResourceDefinition")
	definition.SetName("widgets.example.com")
	live := definition.DeepCopy()
	c.desire(definition)
	object := c.request.Desired[0]
	whole, err := object.Whole()
	if err != nil {
		t.Fatal(err)
	}
	stored := c.Put("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", live.GetName(), whole.Body.Object)
	c.request.Inventory = []metav1alpha1.InventoryEntry{{
		Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition", Name: live.GetName(),
		UID: stored.GetUID(), Digest: object.Digest, Types: []string{"Widget.example.com"}, Revision: 1,
	}}
	f := c.previewDelete()
	expect(t, f, "1 Delete widgets.example.com")
}

func TestAnObjectThatIsBeingDeletedIsWaitedFor(t *testing.T) {
	c := newCluster(t)
	c.Put("v1", "ConfigMap", "shop", "a", map[string]any{"metadata": map[string]any{
		"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": []any{"example.com/slow"},
	}})
	c.desire(configMap("a", "1"))
	f := c.preview()
	if len(f.Waiting) != 1 {
		t.Errorf("the preview waits for %+v, want one object", f.Waiting)
	}
	expect(t, f, "1 Create a, held: the object still exists, but would be deleted before this step")
}

func TestAPreviewEndsWithItsContext(t *testing.T) {
	c := newCluster(t)
	c.desire(configMap("a", "1"))
	ctx, cancel := context.WithCancel(t.Context())
	release := make(chan struct{})
	defer close(release)
	c.Refuse(func(r apiservertest.Request) error {
		if strings.HasSuffix(r.Path, "/configmaps") {
			cancel()
			<-release
		}
		return nil
	})
	if _, err := c.simulator.Apply(ctx, c.client, c.request); !errors.Is(err, context.Canceled) {
		t.Errorf("the interrupted simulation returned %v, want context.Canceled", err)
	}
}
