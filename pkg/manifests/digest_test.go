package manifests_test

import (
	"testing"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestADigestTellsContentFromSettings(t *testing.T) {
	digest := func(metadata string) string {
		t.Helper()
		got, err := manifests.Normalise(
			decode(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, "+metadata+"}, data: {x: y}}"),
			options,
		)
		if err != nil {
			t.Fatal(err)
		}
		return got[0].Digest
	}
	const once, always = "shop.example.com/reconcile-policy: once", "shop.example.com/reconcile-policy: on-object-change"
	for _, c := range []struct {
		name, a, b           string
		sameDigest, sameBody bool
	}{
		{"a setting is no content", "", "annotations: {" + once + "}", false, true},
		{"nor is another value of it", "annotations: {" + always + "}", "annotations: {" + once + "}", false, true},
		{"nor a setting beside other annotations", "annotations: {a: b}", "annotations: {a: b, " + once + "}", false, true},
		{"annotations that are empty count for nothing", "", "annotations: {}", true, true},
		{"other annotations are content", "annotations: {" + once + "}", "annotations: {a: b, " + once + "}", false, false},
		{"so are the settings of another reconciler", "", "annotations: {other.example.com/order: '1'}", false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, b := digest(c.a), digest(c.b)
			if a == b != c.sameDigest || manifests.SameContent(a, b) != c.sameBody {
				t.Errorf("%s, %s", a, b)
			}
		})
	}
	t.Run("what was never applied is the same as nothing", func(t *testing.T) {
		if manifests.SameContent("", "") || manifests.SameContent("", digest("")) ||
			manifests.SameContent("."+digest(""), ".x") {
			t.Error("it is the same")
		}
	})
}

func TestHintsNeedAStatus(t *testing.T) {
	for _, c := range []struct{ name, manifest, want string }{
		{
			"a hint for what has no status is " +
				"refused", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {shop.example.com/status-hint: has-ready-condition}}}",
			"ConfigMap a: annotation shop.example.com/status-hint: a ConfigMap has no status to read; remove the hint",
		},
		{"a hint for others is " +
			"fine", "{apiVersion: example.com/v1, kind: Widget, metadata: {name: a, annotations: {shop.example.com/status-hint: has-ready-condition}}}", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := manifests.Normalise(decode(t, c.manifest), options)
			if err == nil && c.want != "" || err != nil && err.Error() != c.want {
				t.Errorf("got %v", err)
			}
		})
	}
}
