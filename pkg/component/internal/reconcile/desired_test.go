package reconcile

import (
	"context"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/rendering"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestHooksReadTheManifestsOfTheirPass(t *testing.T) {
	for _, isEmpty := range []bool{false, true} {
		w := newWorld(t)
		w.outcome = outcome.Outcome{Outcome: result.Outcome{
			Applied: true, Inventory: []metav1alpha1.InventoryEntry{settings}, Ready: 1, Desired: 1,
		}}
		body := &unstructured.Unstructured{}
		body.SetName("settings")
		w.set = rendering.Set{Objects: []manifests.Object{{Key: rendered.Key, Body: body}}}
		if isEmpty {
			w.set = rendering.Set{}
		}
		called := 0
		for _, point := range []Point{PreReconcile, PostReconcile, PostPass} {
			w.hooks[point] = []Hook{func(_ context.Context, _ components.Object, dependents DependentReader, _ Result) error {
				called++
				found, err := dependents.Desired(rendered.Key)
				switch {
				case point == PreReconcile && (err == nil || apierrors.IsNotFound(err)):
					t.Errorf("before the rendering: %v, %v", found, err)
				case point == PreReconcile:
				case isEmpty && !apierrors.IsNotFound(err):
					t.Errorf("%s: the rendering has no object, but the hook got %v, %v", point, found, err)
				case !isEmpty && (err != nil || found.GetName() != "settings"):
					t.Errorf("%s: got %v, %v", point, found, err)
				case !isEmpty:
					found.SetName("changed")
				}
				return nil
			}}
		}
		w.reconcile()
		if called != 3 || body.GetName() != "settings" {
			t.Errorf("%d hooks were called, and the manifest has the name %s", called, body.GetName())
		}
	}
}
