package discovery

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/fairlead-io/fairlead/internal/budget"
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
		return `"com.example.v1.` + kind +
			`": {"type": "object", "properties": {"apiVersion": {"type": "string"}, "kind": {"type": "string"},
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
		unused, used := schema.GroupVersion{Group: "a"}, schema.GroupVersion{Group: "b"}
		c := &typeCache{clock: now, versions: map[schema.GroupVersion]versionTypes{}}
		c.keep(unused, versionTypes{})
		c.keep(used, versionTypes{})
		now.SetTime(now.Now().Add(schemaIdle))
		c.cached(used, nil)
		time.Sleep(schemaIdle)
		synctest.Wait()
		if _, kept := c.versions[used]; len(c.versions) != 1 || !kept || !c.dropping {
			t.Errorf("the schemas in memory are %v, want those that are used", c.versions)
		}
		now.SetTime(now.Now().Add(schemaIdle))
		time.Sleep(schemaIdle)
		synctest.Wait()
		if len(c.versions) != 0 || c.dropping {
			t.Error("the schemas are still in memory")
		}
	})
}

func TestSchemasOfHostileServersAreBounded(t *testing.T) {
	c, now := typesFrom(t, &schemaServer{})
	gv := func(i int) schema.GroupVersion { return schema.GroupVersion{Group: fmt.Sprint(i), Version: "v1"} }
	for i := range 10 {
		now.SetTime(now.Now().Add(time.Second))
		c.keep(gv(i), versionTypes{nodes: maxCachedNodes / 3})
		c.cached(gv(0), nil)
	}
	for i := range 10 {
		if _, kept := c.versions[gv(i)]; kept != (i == 0 || i >= 8) {
			t.Errorf("the schemas of version %d are in memory: %t", i, kept)
		}
	}
	d := document{ctx: t.Context(), text: []byte(documentOf("colour"))}
	v := versionTypes{kinds: map[string]*Type{}, nodes: maxCachedNodes - 20}
	gadgets := schema.GroupVersion{Group: "example.com", Version: "v1"}
	if err := v.compile(d, gadgets, []string{"Widget", "Gadget"}); err != nil {
		t.Fatal(err)
	}
	if v.kinds["Widget"] == nil || v.kinds["Gadget"] != nil || v.nodes > maxCachedNodes {
		t.Errorf("%d nodes of %d, and only the first kind has room: %v", v.nodes, maxCachedNodes, v.kinds)
	}
}

// lateServer does not answer before the end of the test.
type lateServer struct {
	asked   chan string
	release chan struct{}
}

func (s *lateServer) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	s.asked <- r.URL.Path
	<-s.release
}

func TestALateServerDelaysOnlyWhoeverNeedsItsDocument(t *testing.T) {
	s := &lateServer{asked: make(chan string, 10), release: make(chan struct{})}
	server := httptest.NewServer(s)
	t.Cleanup(func() {
		close(s.release)
		server.Close()
	})
	c, err := newTypeCache(&rest.Config{Host: server.URL}, server.Client())
	if err != nil {
		t.Fatal(err)
	}
	known := schema.GroupVersionKind{Group: "known", Version: "v1", Kind: "Widget"}
	c.keep(known.GroupVersion(), versionTypes{
		kinds: map[string]*Type{"Widget": nil}, due: time.Now().Add(time.Hour),
	})
	late := []schema.GroupVersionKind{{Group: "late", Version: "v1", Kind: "Widget"}}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := c.of(ctx, late)
		ended <- err
	}()
	<-s.asked
	for _, kinds := range [][]schema.GroupVersionKind{nil, {known}} {
		if _, err := c.of(t.Context(), kinds); err != nil {
			t.Error(err)
		}
	}
	waiting, stop := context.WithCancel(t.Context())
	stop()
	if _, err := c.of(waiting, late); !errors.Is(err, context.Canceled) {
		t.Errorf("a pass that has ended waits for the document of another: %v", err)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the error of a pass that has ended is %v", err)
	}
	if len(c.versions) != 1 {
		t.Error("the end of a pass counts as a failure of the server")
	}
	short, stop := context.WithTimeout(t.Context(), time.Millisecond)
	defer stop()
	_, err = c.read(short, late[0].GroupVersion(), versionTypes{}, []string{"Widget"})
	if retryAfter(err) != schemaLateRetry {
		t.Errorf("a document that was not read in time is read again after %s", retryAfter(err))
	}
}

func TestSchemasAreReadAgainAfterAWaitForMemory(t *testing.T) {
	s := &schemaServer{documents: map[string]string{documentPath: documentOf("colour")}}
	c, _ := typesFrom(t, s)
	gvk := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}
	b := budget.New(100<<20, 1<<40)
	working, first := b.Begin(t.Context(), types.NamespacedName{Name: "first"}, func() {})
	if err := budget.Reserve(working, 100<<20); err != nil {
		t.Fatal(err)
	}
	ctx, second := b.Begin(t.Context(), types.NamespacedName{Name: "second"}, func() {})
	defer second.End()
	if _, err := c.of(ctx, []schema.GroupVersionKind{gvk}); !errors.Is(err, budget.ErrWait) {
		t.Fatalf("the error is %v, want that the pass waits for memory", err)
	}
	first.End()
	if accepted, ok := accepts(t, c, "Widget", "color"); !ok || accepted {
		t.Error("the next pass has no schema")
	}
}
