package normalise_test

import (
	"testing"

	"github.com/fairlead-io/fairlead/internal/digests"
	"github.com/fairlead-io/fairlead/pkg/manifests/normalise"
)

func TestADigestTellsContentFromSettings(t *testing.T) {
	digest := func(metadata string) string {
		t.Helper()
		got, err := normalise.Manifests(
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
		{"a new setting does not change the content", "", "annotations: {" + once + "}", false, true},
		{
			"another value of a setting does not change the content", "annotations: {" + always + "}",
			"annotations: {" + once + "}", false, true,
		},
		{
			"a new setting beside other annotations does not change the content", "annotations: {a: b}",
			"annotations: {a: b, " + once + "}", false, true,
		},
		{"an empty map of annotations does not change the digest", "", "annotations: {}", true, true},
		{
			"annotations that are no settings change the content", "annotations: {" + once + "}",
			"annotations: {a: b, " + once + "}", false, false,
		},
		{
			"settings of another reconciler change the content", "", "annotations: {other.example.com/order: '1'}",
			false, false,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, b := digest(c.a), digest(c.b)
			if a == b != c.sameDigest || digests.SameContent(a, b) != c.sameBody {
				t.Errorf("%s, %s", a, b)
			}
		})
	}
	t.Run("an object that was never applied has no equal content", func(t *testing.T) {
		if digests.SameContent("", "") || digests.SameContent("", digest("")) ||
			digests.SameContent("."+digest(""), ".x") {
			t.Error("an empty digest has equal content")
		}
	})
}

func TestHintsNeedAStatus(t *testing.T) {
	for _, c := range []struct{ name, manifest, want string }{
		{
			"a status hint for a type without status is " +
				"refused",
			"{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {shop.example.com/status-hint: " +
				"has-ready-condition}}}",
			"ConfigMap a: annotation shop.example.com/status-hint: a ConfigMap has no status to read; remove the hint",
		},
		{
			"a status hint for a custom type is " +
				"accepted",
			"{apiVersion: example.com/v1, kind: Widget, metadata: {name: a, annotations: {shop.example.com/status-hint: " +
				"has-ready-condition}}}", "",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := normalise.Manifests(decode(t, c.manifest), options)
			if err == nil && c.want != "" || err != nil && err.Error() != c.want {
				t.Errorf("got %v", err)
			}
		})
	}
}
