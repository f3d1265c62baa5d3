package discovery

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
)

// schemaServer serves a document for each path.
type schemaServer struct {
	mu        sync.Mutex
	documents map[string]string
	// asked are the paths of the requests, and unchanged the number of answers without a document.
	asked     []string
	unchanged int
}

func (s *schemaServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, r.URL.Path)
	text, ok := s.documents[r.URL.Path]
	tag := fmt.Sprintf("%q", fmt.Sprint(len(text)))
	switch {
	case !ok:
		w.WriteHeader(http.StatusNotFound)
	case r.Header.Get("If-None-Match") == tag:
		s.unchanged++
		w.WriteHeader(http.StatusNotModified)
	default:
		w.Header().Set("Etag", tag)
		_, _ = w.Write([]byte(text))
	}
}

// documentOf returns a document with two kinds, whose spec has one field.
func documentOf(field string) string {
	model := func(kind string) string {
		return `"com.example.v1.` + kind + `": {"type": "object", "properties": {"apiVersion": {"type": "string"}, "kind": {"type": "string"},
			"metadata": {"type": "object"}, "spec": {"allOf": [{"$ref": "#/components/schemas/com.example.v1.Spec"}]}},
			"x-kubernetes-group-version-kind": [{"group": "example.com", "version": "v1", "kind": "` + kind + `"}]}`
	}
	return `{"components": {"schemas": {` + model("Widget") + "," + model("Gadget") + `,
		"com.example.v1.Spec": {"type": "object", "properties": {"` + field + `": {"type": "string"}}},
		"com.example.v1.Broken": {"type": "array"}}}}`
}

const documentPath = "/openapi/v3/apis/example.com/v1"

func typesFrom(t *testing.T, s *schemaServer) (*typeCache, *clocktesting.FakePassiveClock) {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	c, err := newTypeCache(&rest.Config{Host: server.URL}, server.Client())
	if err != nil {
		t.Fatal(err)
	}
	now := clocktesting.NewFakePassiveClock(time.Now())
	c.clock = now
	return c, now
}

// accepts reports whether a schema accepts a kind with a field; ok is false without a schema.
func accepts(t *testing.T, c *typeCache, kind, field string) (accepted, ok bool) {
	t.Helper()
	gvk := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: kind}
	types, err := c.of(t.Context(), []schema.GroupVersionKind{gvk})
	if err != nil {
		t.Fatal(err)
	}
	if types[gvk] == nil {
		return false, false
	}
	_, err = types[gvk].ObjectToTyped(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": kind, "spec": map[string]any{field: "a"},
	}})
	return err == nil, true
}

func TestSchemasAreReadOncePerGroupAndVersion(t *testing.T) {
	s := &schemaServer{documents: map[string]string{documentPath: documentOf("colour")}}
	c, now := typesFrom(t, s)
	expect := func(what, kind, field string, accepted bool, requests, unchanged int) {
		t.Helper()
		if got, ok := accepts(t, c, kind, field); !ok || got != accepted {
			t.Errorf("%s: the schema accepts the field %s: %t, want %t (found: %t)", what, field, got, accepted, ok)
		}
		if len(s.asked) != requests || s.unchanged != unchanged {
			t.Errorf("%s: %d requests, %d of them without a document; want %d and %d",
				what, len(s.asked), s.unchanged, requests, unchanged)
		}
	}
	expect("the first time", "Widget", "colour", true, 1, 0)
	expect("again", "Widget", "color", false, 1, 0)
	expect("another kind of the same version", "Gadget", "colour", true, 2, 0)
	now.SetTime(now.Now().Add(2 * schemaAge))
	expect("later, without a change", "Gadget", "colour", true, 3, 1)
	s.documents[documentPath] = documentOf("size")
	expect("shortly after a change", "Gadget", "colour", true, 3, 1)
	now.SetTime(now.Now().Add(2 * schemaAge))
	expect("later, after a change", "Gadget", "size", true, 4, 1)
	expect("a kind that was known before the change", "Widget", "colour", false, 4, 1)
	c.forget(schema.GroupVersion{Group: "example.com", Version: "v1"})
	expect("after the schema was found to be outdated", "Widget", "size", true, 5, 1)
}

func TestUnknownKindsHaveNoSchema(t *testing.T) {
	s := &schemaServer{documents: map[string]string{documentPath: documentOf("colour")}}
	c, now := typesFrom(t, s)
	for range 2 {
		if _, ok := accepts(t, c, "Unheard", "colour"); ok {
			t.Error("a kind that the document does not describe has a schema")
		}
	}
	if len(s.asked) != 1 {
		t.Errorf("%d requests for a kind that the document does not describe, want 1", len(s.asked))
	}
	for _, text := range []string{"no JSON", `{"components": {"schemas": {"a": 1}}}`, "{}"} {
		s.documents[documentPath] = text
		c.forget(schema.GroupVersion{Group: "example.com", Version: "v1"})
		if _, ok := accepts(t, c, "Widget", "colour"); ok {
			t.Errorf("there is a schema in %s", text)
		}
	}
	delete(s.documents, documentPath)
	s.asked = nil
	c.forget(schema.GroupVersion{Group: "example.com", Version: "v1"})
	for range 2 {
		if _, ok := accepts(t, c, "Widget", "colour"); ok {
			t.Error("there is a schema without a document")
		}
	}
	if len(s.asked) != 1 {
		t.Errorf("a document that cannot be read is read %d times in a row", len(s.asked))
	}
	s.documents[documentPath] = documentOf("colour")
	now.SetTime(now.Now().Add(2 * schemaRetry))
	if accepted, ok := accepts(t, c, "Widget", "colour"); !ok || !accepted {
		t.Error("a document that could not be read is not read again")
	}
}

func TestSchemasThatNobodyUsesAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := clocktesting.NewFakePassiveClock(time.Now())
		c := &typeCache{clock: now, versions: map[schema.GroupVersion]*versionTypes{{Group: "a"}: {}}, used: now.Now()}
		c.dropLater()
		now.SetTime(now.Now().Add(schemaIdle))
		time.Sleep(schemaIdle)
		synctest.Wait()
		if len(c.versions) != 0 || c.dropping {
			t.Error("the schemas are still in memory")
		}
	})
}
