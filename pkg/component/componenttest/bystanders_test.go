package componenttest

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestCredentialsOfTheComponentMayBeHeld(t *testing.T) {
	const reconciler = "op.example.com"
	owner := manifests.Owner{Cluster: "c", Reconciler: reconciler, Kind: "Shop", Namespace: "seed-1", Name: "shop"}
	object := func(kind string) *unstructured.Unstructured {
		o := newObject(kind, "seed-1", "credentials")
		o.SetUID("u1")
		o.SetResourceVersion("1")
		o.SetLabels(map[string]string{"app": "shop"})
		o.SetFinalizers([]string{"others.example.com/keep"})
		return o
	}
	hold := func(o *unstructured.Unstructured) {
		o.SetLabels(map[string]string{"app": "shop", reconciler + "/held": "true"})
		o.SetFinalizers(append(o.GetFinalizers(), reconciler+"/"+owner.ID()))
	}
	for name, c := range map[string]struct {
		kind          string
		change        func(*unstructured.Unstructured)
		touched, held bool
	}{
		"nothing": {
			"Secret", func(o *unstructured.Unstructured) { o.SetResourceVersion("1") },
			false, false,
		},
		"a Secret is held":           {"Secret", hold, false, true},
		"a Secret was held":          {"Secret", func(*unstructured.Unstructured) {}, false, false},
		"a ConfigMap is held":        {"ConfigMap", hold, true, true},
		"a ConfigMap was written":    {"ConfigMap", func(*unstructured.Unstructured) {}, true, false},
		"a Secret is another one":    {"Secret", func(o *unstructured.Unstructured) { o.SetUID("u2") }, true, false},
		"a Secret has another label": {"Secret", func(o *unstructured.Unstructured) { o.SetLabels(nil) }, true, false},
		"a Secret lost a finalizer":  {"Secret", func(o *unstructured.Unstructured) { o.SetFinalizers(nil) }, true, false},
		"a Secret has other data": {
			"Secret",
			func(o *unstructured.Unstructured) { o.Object["data"] = map[string]any{"a": "YQ=="} }, true, false,
		},
		"a Secret has the finalizer of another component": {"Secret", func(o *unstructured.Unstructured) {
			o.SetFinalizers(append(o.GetFinalizers(), reconciler+"/another"))
		}, true, false},
	} {
		before, now := object(c.kind), object(c.kind)
		now.SetResourceVersion("2")
		c.change(now)
		if touched, held := isTouched(before, now, reconciler, owner), isHeld(now, reconciler, owner); touched != c.touched ||
			held != c.held {
			t.Errorf("%s: touched %t, held %t; want %t, %t", name, touched, held, c.touched, c.held)
		}
	}
}
