package transport

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/spec3"
)

// dryRunSupport finds out which servers support dry runs, and caches the results. The API server supports dry runs for
// all types that it serves itself. Requests for an aggregated API are forwarded to another server. If that server does
// not know the parameter dryRun, it ignores the parameter and writes.
type dryRunSupport struct {
	next http.RoundTripper
	// prefix is the part before /apis in the paths of requests.
	prefix string

	mu    sync.Mutex
	known map[schema.GroupVersion]apiServer
}

// apiServer is the server of a group and version.
type apiServer struct {
	// local is true if the API server serves the group and version itself.
	local bool
	// document is the OpenAPI document of an aggregated API. err is set if the document could not be read.
	document *spec3.OpenAPI
	err      error
}

func newDryRunSupport(next http.RoundTripper, prefix string) *dryRunSupport {
	return &dryRunSupport{
		next:   next,
		prefix: strings.TrimSuffix(prefix, "/"),
		known:  map[schema.GroupVersion]apiServer{},
	}
}

// lacking returns the reason why a write must not be sent as a dry run. It is empty if the write may be sent.
func (s *dryRunSupport) lacking(req *http.Request) string {
	path := strings.TrimPrefix(req.URL.Path, s.prefix)
	parts := strings.SplitN(path, "/", 5)
	if len(parts) < 4 || parts[1] != "apis" {
		// The core group is always served by the API server itself.
		return ""
	}
	gv := schema.GroupVersion{Group: parts[2], Version: parts[3]}
	server := s.serverOf(req, gv)
	switch {
	case server.local:
		return ""
	case server.err != nil:
		return fmt.Sprintf("APIService %s.%s does not support dry run, as far as is known: %v",
			gv.Version, gv.Group, server.err)
	case !takesDryRun(server.document, req.Method, path):
		return fmt.Sprintf(
			"APIService %s.%s does not support dry run according to its OpenAPI document",
			gv.Version,
			gv.Group,
		)
	}
	return ""
}

// serverOf returns the server of a group and version. The result is cached, unless the context of req has ended.
func (s *dryRunSupport) serverOf(req *http.Request, gv schema.GroupVersion) apiServer {
	s.mu.Lock()
	defer s.mu.Unlock()
	server, known := s.known[gv]
	if !known {
		server = s.find(req, gv)
		if req.Context().Err() == nil {
			s.known[gv] = server
		}
	}
	return server
}

// errNotFound is the error of get for the response code 404.
var errNotFound = errors.New("not found")

// find reads the APIService of a group and version. The API server serves the group itself if the APIService does not
// exist or names no Service. Otherwise the OpenAPI document of the group is read. It is also read if the user may not
// read APIServices, which is common.
func (s *dryRunSupport) find(req *http.Request, gv schema.GroupVersion) apiServer {
	var service struct {
		Spec struct {
			Service *struct{} `json:"service"`
		} `json:"spec"`
	}
	err := s.get(req, fmt.Sprintf("/apis/apiregistration.k8s.io/v1/apiservices/%s.%s", gv.Version, gv.Group), &service)
	if errors.Is(err, errNotFound) || err == nil && service.Spec.Service == nil {
		return apiServer{local: true}
	}
	server := apiServer{document: &spec3.OpenAPI{}}
	if err := s.get(req, fmt.Sprintf("/openapi/v3/apis/%s/%s", gv.Group, gv.Version), server.document); err != nil {
		server.err = fmt.Errorf("its OpenAPI document cannot be read: %w", err)
	}
	return server
}

// maxDocument is the maximum number of bytes that are read from a response. The largest documents of Kubernetes have a
// few MiB.
const maxDocument = 64 << 20

// get reads a document with the credentials and headers of a request.
func (s *dryRunSupport) get(as *http.Request, path string, into any) error {
	read := as.Clone(as.Context())
	read.Method, read.Body, read.GetBody, read.ContentLength = http.MethodGet, nil, nil, 0
	read.URL.Path, read.URL.RawPath, read.URL.RawQuery = s.prefix+path, "", ""
	read.Header.Del("Content-Type")
	read.Header.Set("Accept", "application/json")
	response, err := s.next.RoundTrip(read)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	switch response.StatusCode {
	case http.StatusOK:
		return json.NewDecoder(io.LimitReader(response.Body, maxDocument)).Decode(into)
	case http.StatusNotFound:
		return errNotFound
	}
	return errors.New(response.Status)
}

// takesDryRun reports whether an OpenAPI document lists the parameter dryRun for the method and path of a write.
func takesDryRun(document *spec3.OpenAPI, method, path string) bool {
	if document.Paths == nil {
		return false
	}
	for template, item := range document.Paths.Paths {
		if item == nil || !matches(template, path) {
			continue
		}
		operation := map[string]*spec3.Operation{
			http.MethodPost: item.Post, http.MethodPut: item.Put, http.MethodPatch: item.Patch,
		}[method]
		if operation != nil &&
			slices.ContainsFunc(slices.Concat(item.Parameters, operation.Parameters), isDryRun(document)) {
			return true
		}
	}
	return false
}

// isDryRun returns a function that recognises the parameter dryRun, also if it is a reference to a shared component
// of the document.
func isDryRun(document *spec3.OpenAPI) func(*spec3.Parameter) bool {
	return func(p *spec3.Parameter) bool {
		if p != nil && document.Components != nil {
			if name, shared := strings.CutPrefix(p.Ref.String(), "#/components/parameters/"); shared {
				p = document.Components.Parameters[name]
			}
		}
		return p != nil && p.Name == "dryRun" && p.In == "query"
	}
}

// matches reports whether a path matches a template, in which parts such as {name} match any part that is not empty.
func matches(template, path string) bool {
	want, got := strings.Split(template, "/"), strings.Split(path, "/")
	return slices.EqualFunc(want, got, func(w, g string) bool { return w == g || strings.HasPrefix(w, "{") && g != "" })
}
