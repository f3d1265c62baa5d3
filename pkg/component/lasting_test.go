package component

import (
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestRecordsAreHeldWhereTheRightToLetThemGoLasts(t *testing.T) {
	shop, cluster := manifests.Owner{Namespace: "shop", Name: "app"}, manifests.Owner{Name: "app"}
	for _, c := range []struct {
		name    string
		allowed bool
		broken  error
		owner   manifests.Owner
		want    bool
		// asked is how often the API server was asked, of two questions at a time and one after that.
		asked int
	}{
		{name: "where that is granted in all namespaces", allowed: true, owner: shop, want: true, asked: 2},
		{name: "not where it goes with a namespace", owner: shop, asked: 2},
		{name: "where the API server does not say", broken: errors.New("broken"), owner: shop, want: true, asked: 3},
		{name: "where their namespace stays, of components that have none", owner: cluster, want: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var reviews []*unstructured.Unstructured
			answering := dynamicfake.NewSimpleDynamicClient(runtime.NewScheme())
			answering.PrependReactor("create", "selfsubjectaccessreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
				create, ok := action.(clienttesting.CreateAction)
				review, isReview := create.GetObject().(*unstructured.Unstructured)
				if !ok || !isReview {
					t.Fatalf("got %v", action)
				}
				reviews = append(reviews, review.DeepCopy())
				return true, &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"allowed": c.allowed}}}, c.broken
			})
			clock := clocktesting.NewFakePassiveClock(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
			r := NewReconciler[*part]("parts.example.com", nil, Options{})
			r.clock, r.local = clock, &Engine{connection: &connection{watching: answering}}
			for range 2 {
				if got := r.rightsLast(t.Context(), c.owner); got != c.want {
					t.Errorf("held: %t", got)
				}
			}
			clock.SetTime(clock.Now().Add(lastingFor))
			if got := r.rightsLast(t.Context(), c.owner); got != c.want || len(reviews) != c.asked {
				t.Errorf("held: %t, and asked %d times", got, len(reviews))
			}
			for _, review := range reviews {
				asked, _, _ := unstructured.NestedStringMap(review.Object, "spec", "resourceAttributes")
				if asked["verb"] != "patch" || asked["resource"] != "secrets" || asked["namespace"] != "" {
					t.Errorf("asked %v", asked)
				}
			}
		})
	}
}

func TestTheLastAnswerCountsWhileTheAPIServerDoesNotSayHowFarRightsReach(t *testing.T) {
	var broken error
	answering := dynamicfake.NewSimpleDynamicClient(runtime.NewScheme())
	answering.PrependReactor("create", "selfsubjectaccessreviews", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"allowed": false}}}, broken
	})
	clock := clocktesting.NewFakePassiveClock(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	r := NewReconciler[*part]("parts.example.com", nil, Options{})
	r.clock, r.local = clock, &Engine{connection: &connection{watching: answering}}
	shop := manifests.Owner{Namespace: "shop", Name: "app"}
	before := r.rightsLast(t.Context(), shop)
	clock.SetTime(clock.Now().Add(lastingFor))
	broken = errors.New("broken")
	if after := r.rightsLast(t.Context(), shop); before || after {
		t.Errorf("held: %t, and %t when there was no other answer", before, after)
	}
}
