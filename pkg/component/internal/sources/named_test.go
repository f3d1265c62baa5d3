package sources

import (
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestFiltersDecideAboutCreatedAndDeletedObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		large := func(obj client.Object) bool {
			c, ok := obj.(*corev1.ConfigMap)
			if !ok || c.Data["value"] == "bug" {
				panic("a bug")
			}
			return c.Data["value"] == "large"
		}
		r := newRelation(t, RelatedOptions{Whole: true, Added: large, Deleted: large})
		r.track(t, "a")
		r.list(t)
		r.expect(t, "a")
		for _, c := range []struct {
			value string
			woken []string
		}{{"small", nil}, {"large", []string{"a"}}, {"bug", []string{"a"}}} {
			r.update(t, configMap(sharedName, "11", c.value))
			r.expect(t, c.woken...)
			if got := r.values(t, "a"); len(got) != 1 {
				t.Errorf("a filter hides the object: %v", got)
			}
			if err := r.part.Delete(configMap(sharedName, "12", c.value)); err != nil {
				t.Fatal(err)
			}
			r.expect(t, c.woken...)
		}
	})
}

func TestOneRelatedObjectIsReadByItsName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRelation(t, RelatedOptions{Whole: true})
		if _, err := r.GetNamed(t.Context(), key("a"), key(sharedName)); err == nil || apierrors.IsNotFound(err) {
			t.Errorf("before the first list: %v", err)
		}
		r.track(t, "a")
		r.list(t, configMap(sharedName, "1", "x"), configMap("other", "2", "x"))
		found, err := r.GetNamed(t.Context(), key("a"), key(sharedName))
		if err != nil || found.GetName() != sharedName {
			t.Fatalf("got %v, %v", found, err)
		}
		found.SetName("changed")
		if again, err := r.GetNamed(t.Context(), key("a"), key(sharedName)); err != nil || again.GetName() != sharedName {
			t.Errorf("the caller changed the object in memory: %v, %v", again, err)
		}
		for _, name := range []string{"other", "none"} {
			if _, err := r.GetNamed(t.Context(), key("a"), key(name)); !apierrors.IsNotFound(err) {
				t.Errorf("%s is not related: %v", name, err)
			}
		}
	})
}
