package eventsource

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestFiltersLetObjectsOfOtherTypesPass(t *testing.T) {
	one := eventFilter(func(*corev1.ConfigMap) bool { return false })
	both := updateFilter(func(_, _ *corev1.ConfigMap) bool { return false })
	settings, other := client.Object(&corev1.ConfigMap{}), client.Object(&corev1.Secret{})
	if one(settings) || both(settings, settings) {
		t.Error("the filters are not called")
	}
	if !one(other) || !both(other, settings) || !both(settings, other) {
		t.Error("the event of an object of another type is lost")
	}
	if eventFilter[*corev1.ConfigMap](nil) != nil || updateFilter[*corev1.ConfigMap](nil) != nil {
		t.Error("no filter is a filter")
	}
}
