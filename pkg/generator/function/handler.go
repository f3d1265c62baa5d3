package function

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-io/fairlead/internal/authorcode"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Defaults of HandlerOptions.
const (
	DefaultMaxRenderings = 16
	DefaultRenderTimeout = 50 * time.Second
)

// HandlerOptions configures a Handler. The zero value is usable.
type HandlerOptions struct {
	// MaxRequestBytes is the maximum size of a request; DefaultMaxRequestBytes by default.
	MaxRequestBytes int64
	// MaxRenderings is the maximum number of concurrent renderings; DefaultMaxRenderings by default. Further requests are
	// rejected with status 503 and the header Retry-After: 1.
	MaxRenderings int
	// Timeout is the maximum time of a rendering; DefaultRenderTimeout by default.
	Timeout time.Duration
}

// Handler serves a generator as a function that Generator can call. It accepts POST requests on every path.
//
// Objects and reported results are returned with status 200. An error of the generator is returned as a result with
// severity error, so that the user sees it. A temporary error (an error with a method RetryAfter, or a timeout) is
// returned as status 503. The request of the generator contains no look-ups and no source, and its component contains
// only a type, a namespace and a name.
//
// The handler does not authenticate clients. Put it behind TLS, and verify a token or a client certificate before it,
// as the example does.
func Handler(g generator.Generator, o HandlerOptions) http.Handler {
	h := &handler{
		generator:  g,
		limit:      cmp.Or(o.MaxRequestBytes, DefaultMaxRequestBytes),
		timeout:    cmp.Or(o.Timeout, DefaultRenderTimeout),
		renderings: make(chan struct{}, cmp.Or(o.MaxRenderings, DefaultMaxRenderings)),
	}
	return h
}

type handler struct {
	generator  generator.Generator
	limit      int64
	timeout    time.Duration
	renderings chan struct{}
}

// ServeHTTP renders a ResourceList.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "post a ResourceList", http.StatusMethodNotAllowed)
		return
	}
	select {
	case h.renderings <- struct{}{}:
		defer func() { <-h.renderings }()
	default:
		unavailable(w, whenBusy, "the maximum number of concurrent renderings is reached")
		return
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, h.limit))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		http.Error(w, fmt.Sprintf("the request is larger than %d bytes", h.limit), http.StatusRequestEntityTooLarge)
		return
	case err != nil:
		http.Error(w, "the request ended early", http.StatusBadRequest)
		return
	}
	list, err := decodeList(text)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	h.render(w, r, list)
}

// render answers a decoded request.
func (h *handler) render(w http.ResponseWriter, r *http.Request, list *resourceList) {
	ctx, cancel := context.WithTimeout(r.Context(), h.timeout)
	defer cancel()
	answer := resourceList{APIVersion: listAPIVersion, Kind: listKind, Items: []map[string]any{}}
	results := &collector{}
	items, err := h.generate(ctx, list, results)
	var transient interface{ RetryAfter() time.Duration }
	switch {
	case errors.As(err, &transient):
		unavailable(w, transient.RetryAfter(), err.Error())
		return
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		unavailable(w, 0, "the rendering did not end in time")
		return
	case err != nil:
		answer.Results = []result{{Message: err.Error(), Severity: severityError}}
	default:
		answer.Items, answer.Results = items, results.all()
	}
	body, err := json.Marshal(answer)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body) // the client may have closed the connection
}

// generate calls the generator and converts a panic to an error. Only the log shows the value of the panic.
func (h *handler) generate(
	ctx context.Context,
	list *resourceList,
	results *collector,
) (items []map[string]any, err error) {
	req, err := requestOf(list)
	if err != nil {
		return nil, err
	}
	req.Report = results.add
	asked := &names{}
	req.Exports = req.Exports.OnAsk(asked.add)
	p := authorcode.Run("the generator", func() {
		var objects []client.Object
		if objects, err = h.generator.Generate(ctx, req); err == nil {
			items, err = itemsOf(objects)
		}
	})
	if p != nil {
		log.FromContext(ctx).Error(fmt.Errorf("panic: %v", p.Value), "the generator panicked", "stack", string(p.Stack))
		return nil, errors.New("the generator panicked")
	}
	return append(items, asked.items()...), err
}

func itemsOf(objects []client.Object) ([]map[string]any, error) {
	items := make([]map[string]any, 0, len(objects))
	for i, object := range objects {
		if object == nil {
			return nil, fmt.Errorf("the generator returned nil as object %d", i+1)
		}
		manifest, err := manifests.ToUnstructured(object, func(o runtime.Object) (schema.GroupVersionKind, error) {
			return apiutil.GVKForObject(o, clientgoscheme.Scheme)
		})
		if err != nil {
			return nil, fmt.Errorf("%T %s: %w; set its apiVersion and kind", object, object.GetName(), err)
		}
		items = append(items, manifest.Object)
	}
	return items, nil
}

func unavailable(w http.ResponseWriter, after time.Duration, text string) {
	if after > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(after.Seconds()))))
	}
	http.Error(w, text, http.StatusServiceUnavailable)
}

// collector collects the results that a generator reports.
type collector struct {
	mu      sync.Mutex
	results []result
}

func (c *collector) add(told generator.Result) {
	c.mu.Lock()
	defer c.mu.Unlock()
	// The specification has separate fields for an object reference. A result of this package contains one text, so the
	// text is part of the message.
	said := result{
		Message:  generator.Result{Message: told.Message, Object: told.Object}.String(),
		Severity: severity(told.Severity),
	}
	if told.Field != "" {
		said.Field = &resultField{Path: told.Field}
	}
	c.results = append(c.results, said)
}

func (c *collector) all() []result {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.results
}
