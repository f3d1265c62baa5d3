package discovery

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/fairlead-io/fairlead/internal/budget"
)

// Types are compiled schemas, by kind. A kind that the API server does not describe is missing.
type Types map[schema.GroupVersionKind]managedfields.TypeConverter

// Types returns the schemas of kinds, as the API server itself uses them for server-side apply. It sends at most one
// request for each group and version, one after the other. A schema that was read before costs a request only if it is
// older than schemaAge, and then the API server sends the document only if it changed. If the documents of some groups
// cannot be read, the result has the other kinds, and an error is returned only if the memory for them is not available.
func (r *Reader) Types(ctx context.Context, kinds []schema.GroupVersionKind) (Types, error) {
	return r.types.of(ctx, kinds)
}

// ForgetType drops the schema of a kind, because an object that it refuses was accepted.
func (r *Reader) ForgetType(gvk schema.GroupVersionKind) { r.types.forget(gvk.GroupVersion()) }

const (
	// schemaAge is the age after which the API server is asked whether a schema has changed.
	schemaAge = time.Minute
	// schemaIdle is the time after which schemas that were not used are dropped.
	schemaIdle = 10 * time.Minute
	// schemaRetry is the time after which a document is read again that could not be read.
	schemaRetry = 5 * time.Second
	// documentTimeout bounds the time in which a document is read, because other components wait meanwhile. A server that
	// answers late has no schemas.
	documentTimeout = 10 * time.Second
	// maxDocument is the maximum size of a document. The largest documents of Kubernetes have a few MiB.
	maxDocument = 64 << 20
)

// typeCache reads and caches the schemas of an API server. It reads one document at a time, because a document and its
// decoded form take much more memory than the compiled schemas.
type typeCache struct {
	client *http.Client
	base   *url.URL
	clock  clock.PassiveClock

	mu       sync.Mutex
	versions map[schema.GroupVersion]*versionTypes
	used     time.Time
	// dropping is set while a timer runs that drops unused schemas.
	dropping bool
}

// versionTypes are the schemas of a group and version that were asked for.
type versionTypes struct {
	// tag identifies the document.
	tag string
	// kinds are the kinds that were asked for. A kind without a schema is nil.
	kinds map[string]managedfields.TypeConverter
	// asked is the time of the last request. failed is set if it failed.
	asked  time.Time
	failed bool
}

func newTypeCache(config *rest.Config, client *http.Client) (*typeCache, error) {
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, err
	}
	return &typeCache{
		client: client, base: base, clock: clock.RealClock{}, versions: map[schema.GroupVersion]*versionTypes{},
	}, nil
}

// of returns the schemas of kinds; see Reader.Types.
func (c *typeCache) of(ctx context.Context, kinds []schema.GroupVersionKind) (Types, error) {
	wanted := map[schema.GroupVersion][]string{}
	var order []schema.GroupVersion
	for _, gvk := range kinds {
		gv := gvk.GroupVersion()
		if _, known := wanted[gv]; !known {
			order = append(order, gv)
		}
		wanted[gv] = append(wanted[gv], gvk.Kind)
	}
	found := Types{}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, gv := range order {
		if err := c.read(ctx, gv, wanted[gv]); errors.Is(err, budget.ErrWait) || ctx.Err() != nil {
			return nil, errors.Join(err, ctx.Err())
		}
		for _, kind := range wanted[gv] {
			if types := c.versions[gv].kinds[kind]; types != nil {
				found[gv.WithKind(kind)] = types
			}
		}
	}
	c.used = c.clock.Now()
	c.dropLater()
	return found, nil
}

func (c *typeCache) forget(gv schema.GroupVersion) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.versions, gv)
}

// dropLater starts a timer that drops all schemas when they were not used for schemaIdle. The caller holds the lock.
func (c *typeCache) dropLater() {
	if c.dropping {
		return
	}
	c.dropping = true
	time.AfterFunc(schemaIdle, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.dropping = false
		if c.clock.Since(c.used) >= schemaIdle {
			clear(c.versions)
			return
		}
		c.dropLater()
	})
}

// read makes sure that the schemas of the kinds of a group and version are known, if they can be read.
func (c *typeCache) read(ctx context.Context, gv schema.GroupVersion, kinds []string) error {
	known := c.versions[gv]
	if known == nil {
		known = &versionTypes{kinds: map[string]managedfields.TypeConverter{}}
		c.versions[gv] = known
	}
	age, tag := c.clock.Since(known.asked), known.tag
	lacks := false
	for _, kind := range kinds {
		_, compiled := known.kinds[kind]
		lacks = lacks || !compiled
	}
	switch {
	case known.failed && age < schemaRetry, !known.failed && !lacks && age < schemaAge:
		return nil
	case lacks:
		tag = ""
	}
	known.asked, known.failed = c.clock.Now(), true
	ctx, cancel := context.WithTimeout(ctx, documentTimeout)
	defer cancel()
	document, err := c.get(ctx, gv, tag)
	if err != nil {
		return err
	}
	defer document.end()
	if document.text == nil {
		known.failed = false
		return nil
	}
	if document.tag == "" || document.tag != known.tag {
		for kind := range known.kinds {
			kinds = append(kinds, kind)
		}
		known.kinds = map[string]managedfields.TypeConverter{}
	}
	if err := known.compile(document, gv, kinds); err != nil {
		return err
	}
	known.tag, known.failed = document.tag, false
	return nil
}

// compile adds the schemas of the kinds that are not known yet. A kind that cannot be compiled has no schema.
func (v *versionTypes) compile(d document, gv schema.GroupVersion, kinds []string) error {
	models, err := d.models()
	if err != nil {
		return err
	}
	for _, kind := range kinds {
		if _, compiled := v.kinds[kind]; compiled {
			continue
		}
		compiled, err := models.compile(d.ctx, gv.WithKind(kind))
		if errors.Is(err, budget.ErrWait) {
			return err
		}
		v.kinds[kind] = compiled
	}
	return nil
}

// document is the OpenAPI document of a group and version. text is nil if it has not changed. end releases its memory.
type document struct {
	ctx  context.Context
	text []byte
	tag  string
	end  func()
}

// get reads the document of a group and version, unless its tag is the given one. The document has the same content as
// the one that the index of all documents names by its hash, and its tag is this hash, so the index is not read.
func (c *typeCache) get(ctx context.Context, gv schema.GroupVersion, tag string) (document, error) {
	path := []string{"openapi", "v3", "apis", gv.Group, gv.Version}
	if gv.Group == "" {
		path = []string{"openapi", "v3", "api", gv.Version}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base.JoinPath(path...).String(), nil)
	if err != nil {
		return document{}, err
	}
	request.Header.Set("Accept", "application/json")
	if tag != "" {
		request.Header.Set("If-None-Match", tag)
	}
	response, err := c.client.Do(request)
	if err != nil {
		return document{}, err
	}
	defer func() { _ = response.Body.Close() }()
	switch {
	case response.StatusCode == http.StatusNotModified:
		return document{end: func() {}}, nil
	case response.StatusCode != http.StatusOK:
		return document{}, fmt.Errorf("read the OpenAPI document of %s: %s", gv, response.Status)
	}
	scoped, end := budget.Scope(ctx)
	text, err := budget.ReadAll(scoped, response.Body, maxDocument)
	if err == nil && len(text) > maxDocument {
		err = fmt.Errorf("the OpenAPI document of %s has more than %d bytes", gv, maxDocument)
	}
	if err != nil {
		end()
		return document{}, err
	}
	return document{ctx: scoped, text: text, tag: strings.TrimSpace(response.Header.Get("Etag")), end: end}, nil
}
