package digests_test

import (
	"testing"

	"github.com/fairlead-io/fairlead/internal/digests"
)

// one returns the digest if there is no error.
func one(t *testing.T) func(digest string, err error) string {
	return func(digest string, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return digest
	}
}

func TestManifest(t *testing.T) {
	body := func(annotations map[string]any) map[string]any {
		return map[string]any{"kind": "ConfigMap", "metadata": map[string]any{"name": "a", "annotations": annotations}}
	}
	plain := one(t)(digests.Manifest(body(nil), "shop.example.com"))
	with := one(t)(digests.Manifest(body(map[string]any{"shop.example.com/order": "1"}), "shop.example.com"))
	other := one(t)(digests.Manifest(body(map[string]any{"shop.example.com/order": "2"}), "shop.example.com"))
	foreign := one(t)(digests.Manifest(body(map[string]any{"other.example.com/order": "2"}), "shop.example.com"))
	if len(plain) != 16 || len(with) != 16+1+8 || digests.Content(with) != plain {
		t.Errorf("the digests are %s and %s", plain, with)
	}
	if with == other || !digests.SameContent(with, other) || digests.SameContent(plain, foreign) {
		t.Errorf("the digests are %s, %s and %s", with, other, foreign)
	}
	if digests.SameContent("", "") || digests.SameContent(".a", ".a") {
		t.Error("an object that was never applied has equal content")
	}
}

func TestBound(t *testing.T) {
	bound := one(t)(digests.Bound("content.settings", map[string]any{"a": int64(1)}))
	changed := one(t)(digests.Bound("content.settings", map[string]any{"a": int64(2)}))
	if bound == changed || digests.Template(bound) != "content.settings" ||
		digests.Template(changed) != "content.settings" {
		t.Errorf("the digests are %s and %s", bound, changed)
	}
	if got := digests.Template("content.settings"); got != "content.settings" {
		t.Errorf("without bound values: %s", got)
	}
}

func TestOccurrence(t *testing.T) {
	first := one(t)(digests.Occurrence("a.settings", []string{"a", "b"}, 0))
	second := one(t)(digests.Occurrence("b", []string{"a", "b"}, 1))
	changed := one(t)(digests.Occurrence("a.settings", []string{"a", "c"}, 0))
	if digests.SameContent(first, second) || digests.SameContent(first, changed) {
		t.Errorf("the digests are %s, %s and %s", first, second, changed)
	}
	if first[len(digests.Content(first)):] != ".settings" || digests.Content(second) != second {
		t.Errorf("the digests are %s and %s", first, second)
	}
}
