package function

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/internal/httpservice"
	"github.com/fairlead-io/fairlead/internal/plural"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Defaults of Options.
const (
	DefaultMaxCalls         = 4
	DefaultMaxRequestBytes  = 8 << 20
	DefaultMaxResponseBytes = 16 << 20
)

// transientError marks an error as temporary. If after is zero, the reconciler selects the retry delay.
type transientError struct {
	err   error
	after time.Duration
}

func (e *transientError) Error() string             { return e.err.Error() }
func (e *transientError) Unwrap() error             { return e.err }
func (e *transientError) RetryAfter() time.Duration { return e.after }

// whenBusy is the retry delay if the maximum number of calls is already running.
const whenBusy = time.Second

// Options configures a Generator. The zero value is usable.
type Options struct {
	// MaxCalls is the maximum number of concurrent calls; DefaultMaxCalls by default. It limits the number of workers that
	// wait for slow functions. At the limit, further renderings return a temporary error, which is retried after a second.
	MaxCalls int
	// MaxRequestBytes and MaxResponseBytes are the maximum sizes of bodies; DefaultMaxRequestBytes and
	// DefaultMaxResponseBytes by default.
	MaxRequestBytes, MaxResponseBytes int64
}

// Generator renders with a function behind a URL. It is safe for concurrent use.
//
// Generator is the only generator of this module that sends requests to other services. A call takes at most the
// timeout of the service, and at most Options.MaxCalls calls run concurrently. Temporary errors (no connection,
// timeout, 429, 5xx) have a method RetryAfter, and the reconciler retries. Generate never retries by itself.
type Generator struct {
	locate  func(generator.Request) (Service, error)
	options Options
	calls   chan struct{}
	version string
}

var (
	_ generator.Generator = (*Generator)(nil)
	_ generator.Versioner = (*Generator)(nil)
)

// New returns a generator that calls a service. The version of the generator combines the URL and the items of the
// service, so a change of the URL or the items renders all components again. A change of the credentials, or of the
// program behind the same URL, does not. To render again with a new version of the service, put the version into the
// URL.
func New(service Service, o Options) (*Generator, error) {
	if _, err := service.endpoint(); err != nil {
		return nil, err
	}
	g := NewFor(func(generator.Request) (Service, error) { return service, nil }, o)
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q", service.URL, service.Items))
	g.version = "function " + hex.EncodeToString(sum[:16])
	return g, nil
}

// NewFor returns a generator that calls the service that locate returns for a request. locate can read the component
// and the referenced Secrets in the request. The generator has no version, because the service is not known in advance.
func NewFor(locate func(generator.Request) (Service, error), o Options) *Generator {
	o.MaxCalls = cmp.Or(o.MaxCalls, DefaultMaxCalls)
	o.MaxRequestBytes = cmp.Or(o.MaxRequestBytes, DefaultMaxRequestBytes)
	o.MaxResponseBytes = cmp.Or(o.MaxResponseBytes, DefaultMaxResponseBytes)
	return &Generator{locate: locate, options: o, calls: make(chan struct{}, o.MaxCalls)}
}

// Version returns a text that identifies the URL and the items of the service. It is empty for a generator that NewFor
// returned.
func (g *Generator) Version() string { return g.version }

// Generate calls the function. Errors name the URL without its query. They contain neither credentials nor the request.
func (g *Generator) Generate(ctx context.Context, req generator.Request) ([]client.Object, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	service, err := g.locate(req)
	if err != nil {
		return nil, err
	}
	target, err := service.endpoint()
	if err != nil {
		return nil, err
	}
	sent := listOf(req, service.Items)
	body, err := json.Marshal(sent)
	if err != nil {
		return nil, fmt.Errorf("%s: write the request: %w", target.Name(), err)
	}
	if int64(len(body)) > g.options.MaxRequestBytes {
		return nil, fmt.Errorf(
			"%s: the request contains %d bytes, more than the limit of %d",
			target.Name(),
			len(body),
			g.options.MaxRequestBytes,
		)
	}
	answer, err := g.call(ctx, target, body)
	if err != nil {
		return nil, err
	}
	objects, err := read(answer, sent.Items, target.Token(), req)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", target.Name(), err)
	}
	return objects, nil
}

// call POSTs the body. If Options.MaxCalls calls are already running, it returns a temporary error instead of waiting.
func (g *Generator) call(ctx context.Context, target *httpservice.Endpoint, body []byte) ([]byte, error) {
	select {
	case g.calls <- struct{}{}:
		defer func() { <-g.calls }()
	default:
		return nil, &transientError{
			err: fmt.Errorf("%s: the maximum of %s of functions is reached",
				target.Name(), plural.Of(cap(g.calls), "concurrent call")),
			after: whenBusy,
		}
	}
	answer, err := target.Post(ctx, body, g.options.MaxResponseBytes)
	if failed, ok := errors.AsType[*httpservice.Error](err); ok && failed.Temporary {
		return nil, &transientError{err: err, after: failed.RetryAfter}
	}
	return answer, err
}

// read returns the dependents in a response, and reports the results in the response.
func read(answer []byte, sent []map[string]any, token string, req generator.Request) ([]client.Object, error) {
	list, err := decodeList(answer)
	if err != nil {
		return nil, fmt.Errorf("the answer: %w", err)
	}
	if err := tell(list.Results, token, req); err != nil {
		return nil, err
	}
	items, err := dependents(list.Items)
	if err != nil {
		return nil, err
	}
	own := make(map[manifests.Key]bool, len(sent))
	for _, item := range sent {
		own[keyOf(&unstructured.Unstructured{Object: item})] = true
	}
	var objects []client.Object
	for _, item := range items {
		ask(item, req)
		if own[keyOf(item)] || item.GetAnnotations()[localConfig] == "true" {
			continue
		}
		objects = append(objects, item)
	}
	return objects, nil
}

// dependents validates items like any decoded manifests.
func dependents(items []map[string]any) ([]*unstructured.Unstructured, error) {
	for i, item := range items {
		if item == nil {
			return nil, fmt.Errorf("the answer: items[%d] is null", i)
		}
	}
	text, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
	if err != nil {
		return nil, err
	}
	return manifests.Decode("the answer", text)
}

func keyOf(object *unstructured.Unstructured) manifests.Key {
	group := object.GroupVersionKind().Group
	return manifests.Key{Group: group, Kind: object.GetKind(), Namespace: object.GetNamespace(), Name: object.GetName()}
}

// tell reports the results of a response. It returns an error that joins all results with severity error.
func tell(results []result, token string, req generator.Request) error {
	var errs []error
	for _, r := range results {
		said := generator.Result{Message: httpservice.WithoutToken(r.Message, token)}
		if ref := r.ResourceRef; ref != nil {
			group := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).Group
			said.Object = httpservice.WithoutToken(
				manifests.Key{Group: group, Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name}.String(),
				token,
			)
		}
		if r.Field != nil {
			said.Field = httpservice.WithoutToken(r.Field.Path, token)
		}
		switch r.Severity {
		case severityInfo, "":
			said.Severity = generator.SeverityInfo
		case severityWarning:
			said.Severity = generator.SeverityWarning
		case severityError:
			errs = append(errs, errors.New(said.String()))
			continue
		default:
			errs = append(errs, fmt.Errorf("%s (a result with the unknown severity %q)", said, r.Severity))
			continue
		}
		req.Tell(said)
	}
	return errors.Join(errs...)
}
