package lookup

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func TestLookupsWithoutOwnObjects(t *testing.T) {
	c := newClusters(t)
	c.put("theirs", "1")
	c.putOwn("own", "1")
	kind := corev1.SchemeGroupVersion.WithKind("ConfigMap")
	r := NewRecorder(c.target)
	others := WithoutOwn(r.Lookup(false, false), us)
	if _, err := others.Get(t.Context(), kind, "shop", "theirs"); err != nil {
		t.Error(err)
	}
	if r.FoundOwn(us) {
		t.Error("an object of somebody else counts as one of the component")
	}
	if _, err := others.Get(t.Context(), kind, "shop", "own"); !apierrors.IsNotFound(err) {
		t.Errorf("got the error %v for a dependent of the component, want not found", err)
	}
	if !r.FoundOwn(us) {
		t.Error("a dependent that was read is not found")
	}
	r = NewRecorder(c.target)
	for _, test := range []struct {
		name string
		own  bool
		want int
	}{{"all objects", true, 2}, {"without own objects", false, 1}, {"all objects again", true, 2}} {
		l := r.Lookup(false, false)
		if !test.own {
			l = WithoutOwn(l, us)
		}
		if list, err := l.List(t.Context(), kind, "shop"); err != nil || len(list.Items) != test.want {
			t.Errorf("%s: got %v and the error %v, want %d objects", test.name, list, err, test.want)
		}
	}
	if !r.FoundOwn(us) {
		t.Error("a dependent in a list is not found")
	}
}
