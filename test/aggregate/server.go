package aggregate

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Version is the version of the group that a Server serves.
const Version = "v1"

// Server serves a group with two namespaced kinds. Objects of kind Thing can be listed, watched, created, written and
// deleted. Objects of kind Reading can only be listed; there is always exactly one Reading, in the namespace default.
type Server struct {
	group  string
	http   *httptest.Server
	things *store
	down   atomic.Bool
}

// Start starts a server. The caller must call Close.
func Start(group string) *Server {
	s := &Server{group: group, things: newStore()}
	s.http = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	s.http.StartTLS()
	return s
}

// Close ends all watches and stops the server.
func (s *Server) Close() {
	s.things.close()
	s.http.Close()
}

// Down makes the server answer all requests with errors and ends its watches, or with false makes it serve again.
func (s *Server) Down(down bool) {
	s.down.Store(down)
	s.things.interrupt()
}

// APIService returns the name of the APIService.
func (s *Server) APIService() string { return Version + "." + s.group }

// GroupVersion returns the served group and version.
func (s *Server) GroupVersion() string { return s.group + "/" + Version }

// Service returns the manifest of the Service that points to the server.
func (s *Server) Service() string {
	return "apiVersion: v1\nkind: Service\nmetadata: {name: aggregate}\n" +
		"spec: {type: ExternalName, externalName: localhost}\n"
}

// Registration returns the manifest of the APIService. namespace is the namespace of the Service.
func (s *Server) Registration(namespace string) string {
	_, port, _ := strings.Cut(s.http.Listener.Addr().String(), ":")
	return fmt.Sprintf(`apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata:
  name: %s
spec:
  group: %s
  version: %s
  groupPriorityMinimum: 1000
  versionPriority: 10
  insecureSkipTLSVerify: true
  service: {namespace: %s, name: aggregate, port: %s}
`, s.APIService(), s.group, Version, namespace, port)
}

// Thing returns the manifest of a Thing.
func (s *Server) Thing(namespace, name string) string {
	return fmt.Sprintf(
		"apiVersion: %s/%s\nkind: Thing\nmetadata: {namespace: %s, name: %s}\n",
		s.group,
		Version,
		namespace,
		name,
	)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	prefix := "/apis/" + s.group + "/" + Version
	path, ours := strings.CutPrefix(r.URL.Path, prefix)
	switch {
	case s.down.Load():
		http.Error(w, "down", http.StatusServiceUnavailable)
	case !ours:
		http.NotFound(w, r)
	case path == "":
		s.discovery(w)
	default:
		s.resource(w, r, target(path))
	}
}

func (s *Server) discovery(w http.ResponseWriter) {
	answer(w, http.StatusOK, metav1.APIResourceList{
		TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: s.group + "/" + Version,
		APIResources: []metav1.APIResource{
			{
				Name:         "things",
				SingularName: "thing",
				Kind:         "Thing",
				Namespaced:   true,
				Verbs:        metav1.Verbs{"get", "list", "watch", "create", "patch", "update", "delete"},
			},
			{Name: "things/status", Kind: "Thing", Namespaced: true, Verbs: metav1.Verbs{"get", "list", "create"}},
			{
				Name:         "readings",
				SingularName: "reading",
				Kind:         "Reading",
				Namespaced:   true,
				Verbs:        metav1.Verbs{"get", "list"},
			},
		},
	})
}

// address is the object or collection that a path names.
type address struct{ namespace, resource, name string }

func target(path string) address {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	var a address
	if len(parts) > 2 && parts[0] == "namespaces" {
		a.namespace, parts = parts[1], parts[2:]
	}
	a.resource = parts[0]
	if len(parts) > 1 {
		a.name = parts[1]
	}
	return a
}

func (s *Server) resource(w http.ResponseWriter, r *http.Request, a address) {
	query := r.URL.Query()
	switch {
	case a.resource == "readings" && a.name == "":
		reading := s.blank("Reading", address{namespace: "default", name: "here"})
		answer(w, http.StatusOK, list(r, "Reading", s.group, "1", []*unstructured.Unstructured{reading}))
	case a.resource != "things":
		http.NotFound(w, r)
	case query.Get("sendInitialEvents") != "":
		refuse(w, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)
	case query.Get("watch") != "":
		s.things.watch(w, r)
	case r.Method == http.MethodGet && a.name == "":
		objects, version := s.things.list(a.namespace, query.Get("labelSelector"))
		answer(w, http.StatusOK, list(r, "Thing", s.group, version, objects))
	case r.Method == http.MethodGet:
		s.reply(w, s.things.get(a))
	case r.Method == http.MethodDelete:
		s.reply(w, s.things.delete(a))
	default:
		s.write(w, r, a)
	}
}

// write creates or replaces an object. The body of a patch is treated as the whole object.
func (s *Server) write(w http.ResponseWriter, r *http.Request, a address) {
	obj := s.blank("Thing", a)
	if err := json.NewDecoder(r.Body).Decode(&obj.Object); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	a.name = obj.GetName()
	obj.SetNamespace(a.namespace)
	if r.Method == http.MethodPost && s.things.get(a) != nil {
		refuse(w, http.StatusConflict, metav1.StatusReasonAlreadyExists)
		return
	}
	answer(w, http.StatusCreated, s.things.put(a, obj))
}

func (s *Server) blank(kind string, a address) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": s.group + "/" + Version, "kind": kind}}
	obj.SetNamespace(a.namespace)
	obj.SetName(a.name)
	return obj
}

func (s *Server) reply(w http.ResponseWriter, obj *unstructured.Unstructured) {
	if obj == nil {
		refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound)
		return
	}
	answer(w, http.StatusOK, obj)
}

func list(r *http.Request, kind, group, version string, objects []*unstructured.Unstructured) map[string]any {
	items := make([]any, 0, len(objects))
	for _, o := range objects {
		items = append(items, shape(r, o))
	}
	header := map[string]any{"apiVersion": group + "/" + Version, "kind": kind + "List"}
	if metadataOnly(r) {
		header = map[string]any{"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadataList"}
	}
	header["metadata"], header["items"] = map[string]any{"resourceVersion": version}, items
	return header
}

// metadataOnly reports whether a client requested only metadata.
func metadataOnly(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata")
}

func shape(r *http.Request, obj *unstructured.Unstructured) map[string]any {
	if !metadataOnly(r) {
		return obj.Object
	}
	return map[string]any{
		"apiVersion": "meta.k8s.io/v1",
		"kind":       "PartialObjectMetadata",
		"metadata":   obj.Object["metadata"],
	}
}

func refuse(w http.ResponseWriter, code int, reason metav1.StatusReason) {
	answer(w, code, metav1.Status{
		TypeMeta: metav1.TypeMeta{
			Kind:       "Status",
			APIVersion: "v1",
		},
		Status:  metav1.StatusFailure,
		Code:    int32(code),
		Reason:  reason,
		Message: string(reason),
		Details: &metav1.StatusDetails{},
	})
}

func answer(w http.ResponseWriter, code int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(value) // The client has disconnected, or gets an incomplete response.
}
