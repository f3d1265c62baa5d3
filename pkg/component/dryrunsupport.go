package component

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

// dryRunSupport knows who would make no dry run of a write that asks for one. The API server does, of all that it serves itself. It hands
// requests on to other servers where an APIService says so, and one of those that does not know the parameter would ignore it, and write.
type dryRunSupport struct {
	next http.RoundTripper
	// prefix is what comes before /apis in the paths of requests.
	prefix string

	mu    sync.Mutex
	known map[schema.GroupVersion]apiServer
}

// apiServer is what serves a group and version.
type apiServer struct {
	// itself says that it is the API server; what others support, their document says, or why there is none.
	itself   bool
	document *spec3.OpenAPI
	err      error
}

func newDryRunSupport(next http.RoundTripper, prefix string) *dryRunSupport {
	return &dryRunSupport{next: next, prefix: strings.TrimSuffix(prefix, "/"), known: map[schema.GroupVersion]apiServer{}}
}

// lacking says why a write must not be sent as a dry run; empty where it may.
func (s *dryRunSupport) lacking(req *http.Request) string {
	path := strings.TrimPrefix(req.URL.Path, s.prefix)
	parts := strings.SplitN(path, "/", 5)
	if len(parts) < 4 || parts[1] != "apis" {
		// The group without a name is the API server's own.
		return ""
	}
	gv := schema.GroupVersion{Group: parts[2], Version: parts[3]}
	server := s.serverOf(req, gv)
	switch {
	case server.itself:
		return ""
	case server.err != nil:
		return fmt.Sprintf("APIService %s.%s does not support dry run, as far as can be told: %v", gv.Version, gv.Group, server.err)
	case !takesDryRun(server.document, req.Method, path):
		return fmt.Sprintf("APIService %s.%s does not support dry run, as far as its OpenAPI tells", gv.Version, gv.Group)
	}
	return ""
}

// serverOf finds out who serves a group and version, once, unless who asked has stopped waiting.
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

// errNotThere says that the API server has nothing of a path.
var errNotThere = errors.New("it is not there")

// find asks who serves a group and version. Who may not read APIServices, as most may not, learns it from what the server says of itself.
func (s *dryRunSupport) find(req *http.Request, gv schema.GroupVersion) apiServer {
	var service struct {
		Spec struct {
			Service *struct{} `json:"service"`
		} `json:"spec"`
	}
	err := s.get(req, fmt.Sprintf("/apis/apiregistration.k8s.io/v1/apiservices/%s.%s", gv.Version, gv.Group), &service)
	if errors.Is(err, errNotThere) || err == nil && service.Spec.Service == nil {
		return apiServer{itself: true}
	}
	server := apiServer{document: &spec3.OpenAPI{}}
	if err := s.get(req, fmt.Sprintf("/openapi/v3/apis/%s/%s", gv.Group, gv.Version), server.document); err != nil {
		server.err = fmt.Errorf("its OpenAPI cannot be read: %w", err)
	}
	return server
}

// maxDocument bounds what is read of an answer; the largest documents of Kubernetes take a few MiB.
const maxDocument = 64 << 20

// get reads a document as whoever made a request.
func (s *dryRunSupport) get(as *http.Request, path string, into any) error {
	asking := as.Clone(as.Context())
	asking.Method, asking.Body, asking.GetBody, asking.ContentLength = http.MethodGet, nil, nil, 0
	asking.URL.Path, asking.URL.RawPath, asking.URL.RawQuery = s.prefix+path, "", ""
	asking.Header.Del("Content-Type")
	asking.Header.Set("Accept", "application/json")
	answer, err := s.next.RoundTrip(asking)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	switch answer.StatusCode {
	case http.StatusOK:
		return json.NewDecoder(io.LimitReader(answer.Body, maxDocument)).Decode(into)
	case http.StatusNotFound:
		return errNotThere
	}
	return errors.New(answer.Status)
}

// takesDryRun says that a document names the parameter among those of a write.
func takesDryRun(document *spec3.OpenAPI, method, path string) bool {
	if document.Paths == nil {
		return false
	}
	for template, item := range document.Paths.Paths {
		if item == nil || !matches(template, path) {
			continue
		}
		operation := map[string]*spec3.Operation{http.MethodPost: item.Post, http.MethodPut: item.Put, http.MethodPatch: item.Patch}[method]
		if operation != nil && slices.ContainsFunc(slices.Concat(item.Parameters, operation.Parameters), isDryRun(document)) {
			return true
		}
	}
	return false
}

// isDryRun tells the parameter, which may be given by a reference to what is shared in a document.
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

// matches compares a path with the template of one, in which any part may stand for {name}.
func matches(template, path string) bool {
	want, got := strings.Split(template, "/"), strings.Split(path, "/")
	return slices.EqualFunc(want, got, func(w, g string) bool { return w == g || strings.HasPrefix(w, "{") && g != "" })
}
