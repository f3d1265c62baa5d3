package apiservertest

import (
	"encoding/json"
	"net/http"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/watch"
)

// stream writes the events of one watch to its client.
type stream struct {
	writer   http.ResponseWriter
	encoder  *json.Encoder
	reduced  bool
	selected labels.Selector
	at       address
}

// watch sends events until the client closes the connection.
func (s *Server) watch(w http.ResponseWriter, r *http.Request, at address) {
	w.Header().Set("Content-Type", "application/json")
	out := stream{w, json.NewEncoder(w), onlyMetadata(r), selector(r), at}
	since, _ := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	if r.URL.Query().Get("sendInitialEvents") == "true" {
		since = s.sendInitial(out)
	}
	out.flush()
	for {
		s.mu.Lock()
		events, changed := s.events, s.changed
		s.mu.Unlock()
		for _, e := range events {
			if e.version > since {
				since = e.version
				out.send(e)
			}
		}
		out.flush()
		select {
		case <-r.Context().Done():
			return
		case <-changed:
		}
	}
}

// sendInitial sends all objects, and then the bookmark that marks the end of the initial list. It returns the resource
// version of the list.
func (s *Server) sendInitial(out stream) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, obj := range s.matching(out.at, out.selected) {
		out.encode(watch.Added, obj)
	}
	bookmark := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": out.at.GroupVersion().String(), "kind": s.resources[out.at.GroupVersionResource].Kind,
	}}
	bookmark.SetResourceVersion(strconv.Itoa(s.version))
	bookmark.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	out.encode(watch.Bookmark, bookmark)
	return s.version
}

// send sends a change of an object as an addition, a change or a deletion, depending on whether the watch selects the
// object before and after the change.
func (o stream) send(e event) {
	if e.resource != o.at.GroupVersionResource {
		return
	}
	before, after := o.sees(e.before), o.sees(e.after)
	switch {
	case before && after:
		o.encode(watch.Modified, e.after)
	case after:
		o.encode(watch.Added, e.after)
	case before:
		deleted := e.before.DeepCopy()
		deleted.SetResourceVersion(strconv.Itoa(e.version))
		o.encode(watch.Deleted, deleted)
	}
}

func (o stream) sees(obj *unstructured.Unstructured) bool {
	return obj != nil && (o.at.namespace == "" || o.at.namespace == obj.GetNamespace()) &&
		(o.at.name == "" || o.at.name == obj.GetName()) && o.selected.Matches(labels.Set(obj.GetLabels()))
}

func (o stream) encode(kind watch.EventType, obj *unstructured.Unstructured) {
	// An error means that the client closed the connection. Then the request ends.
	_ = o.encoder.Encode(map[string]any{"type": kind, "object": shown(obj, o.reduced)})
}

func (o stream) flush() {
	if f, ok := o.writer.(http.Flusher); ok {
		f.Flush()
	}
}
