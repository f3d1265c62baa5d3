package apiservertest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// Request is a request that the server received. Discovery requests are not kept.
type Request struct {
	Method, Path string
	// User is the impersonated user.
	User   string
	DryRun bool
	// Watch is set for watches.
	Watch bool
}

// String returns the method and the path.
func (r Request) String() string { return r.Method + " " + r.Path }

// Server is a fake API server. It is safe for concurrent use.
type Server struct {
	url string

	mu        sync.Mutex
	resources map[schema.GroupVersionResource]metav1.APIResource
	// broken are the groups and versions whose discovery fails.
	broken   map[schema.GroupVersion]bool
	objects  map[address]*unstructured.Unstructured
	version  int
	events   []event
	changed  chan struct{}
	requests []Request
	refuse   func(Request) error
	// pageSize is the maximum number of objects in the response to a list; zero means no limit.
	pageSize int
}

// address identifies an object, or a collection if the name is empty.
type address struct {
	schema.GroupVersionResource
	namespace, name string
}

// event is a watch event: a change of an object. Before and after are nil if the object did not exist.
type event struct {
	resource      schema.GroupVersionResource
	version       int
	before, after *unstructured.Unstructured
}

var allVerbs = metav1.Verbs{"create", "delete", "get", "list", "patch", "update", "watch"}

// New starts a server that stops at the end of the test. It serves Namespaces, ConfigMaps, Secrets, Events, Widgets of
// example.com/v1, definitions of types, and admission policies. The namespaces default, kube-system and shop exist.
func New(t testing.TB) *Server {
	t.Helper()
	s := &Server{
		resources: map[schema.GroupVersionResource]metav1.APIResource{}, broken: map[schema.GroupVersion]bool{},
		objects: map[address]*unstructured.Unstructured{}, changed: make(chan struct{}),
	}
	s.Serve("v1", "namespaces", "Namespace", false)
	s.Serve("v1", "configmaps", "ConfigMap", true)
	s.Serve("v1", "secrets", "Secret", true)
	s.Serve("v1", "events", "Event", true)
	s.Serve("example.com/v1", "widgets", "Widget", true)
	s.Serve("apiextensions.k8s.io/v1", "customresourcedefinitions", "CustomResourceDefinition", false)
	s.Serve("apiregistration.k8s.io/v1", "apiservices", "APIService", false)
	s.Serve("admissionregistration.k8s.io/v1", "validatingadmissionpolicies", "ValidatingAdmissionPolicy", false)
	s.Serve(
		"admissionregistration.k8s.io/v1",
		"validatingadmissionpolicybindings",
		"ValidatingAdmissionPolicyBinding",
		false,
	)
	for _, name := range []string{"default", "kube-system", "shop"} {
		s.Put("v1", "Namespace", "", name, map[string]any{"status": map[string]any{"phase": "Active"}})
	}
	s.url = stopped(t, httptest.NewServer(s))
	return s
}

func stopped(t testing.TB, server *httptest.Server) (url string) {
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

// ServeTLS serves on another port with TLS, and returns the URL. No CA has signed the certificate.
func (s *Server) ServeTLS(t testing.TB) string {
	t.Helper()
	return stopped(t, httptest.NewTLSServer(s))
}

// Config returns the configuration of a client for the server.
func (s *Server) Config() *rest.Config { return &rest.Config{Host: s.url, QPS: -1} }

// Serve adds a type with the given verbs, or with all verbs if none are given.
func (s *Server) Serve(groupVersion, resource, kind string, namespaced bool, verbs ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(verbs) == 0 {
		verbs = allVerbs
	}
	gv, err := schema.ParseGroupVersion(groupVersion)
	must(err)
	s.resources[gv.WithResource(resource)] = metav1.APIResource{
		Name: resource, Kind: kind, Namespaced: namespaced, Verbs: verbs,
	}
}

// Break makes the discovery of a group and version fail.
func (s *Server) Break(groupVersion string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	gv, err := schema.ParseGroupVersion(groupVersion)
	must(err)
	s.broken[gv] = true
}

// Page limits each response to a list to a number of objects, also if the client sets no limit.
func (s *Server) Page(size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pageSize = size
}

// Refuse sets a function that is called before each request. If the function returns an error, the request fails with
// that error. The function may change objects.
func (s *Server) Refuse(refuse func(Request) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = refuse
}

// Put stores an object, as another client would. If an object with the name exists, content is merged into it.
func (s *Server) Put(apiVersion, kind, namespace, name string, content map[string]any) *unstructured.Unstructured {
	s.mu.Lock()
	defer s.mu.Unlock()
	gv, err := schema.ParseGroupVersion(apiVersion)
	must(err)
	at := address{s.resourceOf(gv.WithKind(kind)), namespace, name}
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	if stored := s.objects[at]; stored != nil {
		obj = stored.DeepCopy()
	}
	obj.Object = merge(obj.Object, runtime.DeepCopyJSON(content))
	obj.SetAPIVersion(apiVersion)
	obj.SetKind(kind)
	obj.SetNamespace(namespace)
	obj.SetName(name)
	return s.store(at, obj).DeepCopy()
}

// Object returns a stored object, nil if it does not exist.
func (s *Server) Object(apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	s.mu.Lock()
	defer s.mu.Unlock()
	gv, err := schema.ParseGroupVersion(apiVersion)
	must(err)
	if obj := s.objects[address{s.resourceOf(gv.WithKind(kind)), namespace, name}]; obj != nil {
		return obj.DeepCopy()
	}
	return nil
}

// Delete removes an object, as another client would.
func (s *Server) Delete(apiVersion, kind, namespace, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	gv, err := schema.ParseGroupVersion(apiVersion)
	must(err)
	s.remove(address{s.resourceOf(gv.WithKind(kind)), namespace, name})
}

// Requests returns the requests since the last call.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	requests := s.requests
	s.requests = nil
	return requests
}

// Writes returns the methods and paths of the write requests since the last call of Writes or Requests.
func (s *Server) Writes() []string {
	var writes []string
	for _, r := range s.Requests() {
		if r.Method != http.MethodGet {
			writes = append(writes, r.String())
		}
	}
	return writes
}

func (s *Server) resourceOf(gvk schema.GroupVersionKind) schema.GroupVersionResource {
	for gvr, r := range s.resources {
		if gvr.GroupVersion() == gvk.GroupVersion() && r.Kind == gvk.Kind {
			return gvr
		}
	}
	panic(fmt.Sprintf("%s is not served", gvk))
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if answer, found := s.discover(path); found {
		if answer == nil {
			http.Error(w, "the server is currently unable to handle the request", http.StatusServiceUnavailable)
			return
		}
		reply(w, answer, nil)
		return
	}
	at, known := s.address(path)
	got := Request{
		Method: r.Method, Path: r.URL.Path, User: r.Header.Get("Impersonate-User"),
		DryRun: r.URL.Query().Get("dryRun") != "", Watch: r.URL.Query().Get("watch") != "",
	}
	s.mu.Lock()
	s.requests = append(s.requests, got)
	refuse := s.refuse
	s.mu.Unlock()
	var err error
	if refuse != nil {
		err = refuse(got)
	}
	switch {
	case err != nil:
	case !known:
		// The response of an API server to an unknown path has no Status object.
		http.NotFound(w, r)
		return
	case got.Watch:
		s.watch(w, r, at)
		return
	}
	if err != nil {
		reply(w, nil, err)
		return
	}
	answer, err := s.answer(r, at, got.DryRun)
	reply(w, answer, err)
}

func reply(w http.ResponseWriter, answer any, err error) {
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		status, ok := err.(apierrors.APIStatus)
		if !ok {
			status = apierrors.NewInternalError(err)
		}
		failure := status.Status()
		failure.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		w.WriteHeader(int(failure.Code))
		answer = failure
	}
	must(json.NewEncoder(w).Encode(answer))
}

// address returns the address of the object or the collection at a path. The result known is false if the type is not
// served.
func (s *Server) address(path []string) (at address, known bool) {
	if len(path) < 3 {
		return address{}, false
	}
	gv, rest := schema.GroupVersion{Version: path[1]}, path[2:]
	if path[0] == "apis" {
		gv, rest = schema.GroupVersion{Group: path[1], Version: path[2]}, path[3:]
	}
	if len(rest) >= 3 && rest[0] == "namespaces" {
		at.namespace, rest = rest[1], rest[2:]
	}
	if len(rest) == 0 {
		return address{}, false
	}
	at.GroupVersionResource = gv.WithResource(rest[0])
	if len(rest) > 1 {
		at.name = rest[1]
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, known = s.resources[at.GroupVersionResource]
	return at, known
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// store stores an object with a new resource version, and sets its UID. The caller holds the lock.
func (s *Server) store(at address, obj *unstructured.Unstructured) *unstructured.Unstructured {
	s.version++
	before := s.objects[at]
	if before == nil {
		obj.SetUID(types.UID("uid-" + strconv.Itoa(s.version)))
	} else {
		obj.SetUID(before.GetUID())
	}
	obj.SetResourceVersion(strconv.Itoa(s.version))
	stored := obj.DeepCopy()
	s.objects[at] = stored
	s.record(event{at.GroupVersionResource, s.version, before, stored})
	return stored
}

// remove removes an object. If the object is a namespace, remove also removes all objects in it. The caller holds the
// lock.
func (s *Server) remove(at address) {
	before := s.objects[at]
	if before == nil {
		return
	}
	s.version++
	delete(s.objects, at)
	s.record(event{at.GroupVersionResource, s.version, before, nil})
	if at.Resource == "namespaces" {
		for inside := range s.objects {
			if inside.namespace == at.name {
				s.remove(inside)
			}
		}
	}
}

func (s *Server) record(e event) {
	s.events = append(s.events, e)
	close(s.changed)
	s.changed = make(chan struct{})
}
