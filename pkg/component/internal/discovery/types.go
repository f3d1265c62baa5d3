package discovery

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/fairlead-io/fairlead/internal/budget"
)

// Types are the schemas of kinds. A kind that the API server does not describe is missing.
type Types map[schema.GroupVersionKind]*Type

// Types returns the schemas of kinds, as the API server itself uses them for server-side apply. It sends at most one
// request for each group and version, one after the other. A schema that was read before costs a request only if it is
// older than schemaAge, and then the API server sends the document only if it changed. If the documents of some groups
// cannot be read, the result contains the other kinds, and an error is returned only if the memory for them is not
// available.
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
	// schemaRetry is the time after which a document is read again that could not be read, and schemaLateRetry the time
	// if the API server did not answer in time.
	schemaRetry     = 5 * time.Second
	schemaLateRetry = time.Minute
	// documentTimeout bounds the time in which a document is read, because other components wait meanwhile. A server that
	// answers late has no schemas.
	documentTimeout = 10 * time.Second
	// maxDocument is the maximum size of a document. The largest documents of Kubernetes have a few MiB.
	maxDocument = 64 << 20
	// maxCachedNodes bounds the memory of the schemas of an API server, which no budget of a component counts. The kinds
	// of Kubernetes have about 20,000 fields together.
	maxCachedNodes = 300_000
)

// typeCache reads and caches the schemas of an API server. It reads one document at a time, because a document and its
// decoded form take much more memory than the compiled schemas. Schemas that are cached are there for everybody
// meanwhile.
type typeCache struct {
	client *http.Client
	base   *url.URL
	clock  clock.PassiveClock
	// reading holds a value while a document is read.
	reading chan struct{}

	mu       sync.Mutex
	versions map[schema.GroupVersion]versionTypes
	// dropping is set while a timer runs that drops unused schemas.
	dropping bool
}

// versionTypes are the schemas of a group and version that were asked for. The map is not changed once it is cached.
type versionTypes struct {
	// tag identifies the document.
	tag string
	// kinds are the kinds that were asked for. A kind without a schema is nil.
	kinds map[string]*Type
	// nodes is an estimate of the fields of the kinds.
	nodes int
	// due is the time of the next request. failed is set if the last request failed, so that no kind is read before then.
	due    time.Time
	failed bool
	used   time.Time
}

func newTypeCache(config *rest.Config, client *http.Client) (*typeCache, error) {
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, err
	}
	return &typeCache{
		client: client, base: base, clock: clock.RealClock{}, reading: make(chan struct{}, 1),
		versions: map[schema.GroupVersion]versionTypes{},
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
	for _, gv := range order {
		known, err := c.version(ctx, gv, wanted[gv])
		if err != nil {
			return nil, err
		}
		for _, kind := range wanted[gv] {
			if types := known.kinds[kind]; types != nil {
				found[gv.WithKind(kind)] = types
			}
		}
	}
	return found, nil
}

// version returns the schemas of the kinds of a group and version, as far as they can be read.
func (c *typeCache) version(ctx context.Context, gv schema.GroupVersion, kinds []string) (versionTypes, error) {
	if known, current := c.cached(gv, kinds); current {
		return known, nil
	}
	select {
	case c.reading <- struct{}{}:
	case <-ctx.Done():
		return versionTypes{}, ctx.Err()
	}
	defer func() { <-c.reading }()
	known, current := c.cached(gv, kinds)
	if current {
		return known, nil
	}
	read, err := c.read(ctx, gv, known, kinds)
	switch {
	case errors.Is(err, budget.ErrWait):
		return versionTypes{}, err
	case ctx.Err() != nil:
		return versionTypes{}, ctx.Err()
	case err != nil:
		// The failure says nothing about the schemas that are known. A write without a schema is a usual write.
		read = known
		read.failed, read.due = true, c.clock.Now().Add(retryAfter(err))
	}
	c.keep(gv, read)
	return read, nil
}

// retryAfter returns the time after which a document is read again. A document that takes long, or much memory, is not
// read often.
func retryAfter(err error) time.Duration {
	if errors.Is(err, context.DeadlineExceeded) || budget.Refused(err) {
		return schemaLateRetry
	}
	return schemaRetry
}

// cached returns the cached schemas of a group and version. current is set if no request is necessary for the kinds.
func (c *typeCache) cached(gv schema.GroupVersion, kinds []string) (known versionTypes, current bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, ok := c.versions[gv]
	if !ok {
		return versionTypes{}, false
	}
	known.used = c.clock.Now()
	c.versions[gv] = known
	return known, known.used.Before(known.due) && (known.failed || !known.lacks(kinds))
}

// lacks reports whether a kind was not asked for yet.
func (v versionTypes) lacks(kinds []string) bool {
	return slices.ContainsFunc(kinds, func(kind string) bool {
		_, compiled := v.kinds[kind]
		return !compiled
	})
}

// keep caches the schemas of a group and version. If there are too many schemas then, those are dropped that were not
// used for the longest time.
func (c *typeCache) keep(gv schema.GroupVersion, v versionTypes) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v.used = c.clock.Now()
	c.versions[gv] = v
	c.dropLater()
	nodes := 0
	var others []schema.GroupVersion
	for other, known := range c.versions {
		nodes += known.nodes
		if other != gv {
			others = append(others, other)
		}
	}
	slices.SortFunc(others, func(a, b schema.GroupVersion) int {
		return c.versions[a].used.Compare(c.versions[b].used)
	})
	for _, other := range others {
		if nodes <= maxCachedNodes {
			return
		}
		nodes -= c.versions[other].nodes
		delete(c.versions, other)
	}
}

func (c *typeCache) forget(gv schema.GroupVersion) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.versions, gv)
}

// dropLater starts a timer that drops the schemas that were not used for schemaIdle. The caller holds the lock.
func (c *typeCache) dropLater() {
	if c.dropping {
		return
	}
	c.dropping = true
	time.AfterFunc(schemaIdle, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.dropping = false
		maps.DeleteFunc(c.versions, func(_ schema.GroupVersion, v versionTypes) bool {
			return c.clock.Since(v.used) >= schemaIdle
		})
		if len(c.versions) > 0 {
			c.dropLater()
		}
	})
}

// read returns the schemas of the kinds of a group and version, and of those that are known, from its document.
func (c *typeCache) read(
	ctx context.Context, gv schema.GroupVersion, known versionTypes, kinds []string,
) (versionTypes, error) {
	tag := known.tag
	if known.lacks(kinds) {
		tag = ""
	}
	document, err := c.get(ctx, gv, tag)
	if err != nil {
		return versionTypes{}, err
	}
	defer document.end()
	due := c.clock.Now().Add(schemaAge)
	if document.text == nil {
		known.due, known.failed = due, false
		return known, nil
	}
	read := versionTypes{tag: document.tag, kinds: map[string]*Type{}, due: due}
	if document.tag != "" && document.tag == known.tag {
		maps.Copy(read.kinds, known.kinds)
		read.nodes = known.nodes
	} else {
		kinds = slices.Concat(kinds, slices.Sorted(maps.Keys(known.kinds)))
	}
	err = read.compile(document, gv, kinds)
	return read, err
}

// compile adds the schemas of the kinds that are not known yet. A kind that cannot be compiled has no schema, and
// neither has one for which there is no room.
func (v *versionTypes) compile(d document, gv schema.GroupVersion, kinds []string) error {
	models, operations, err := d.models()
	if err != nil {
		return err
	}
	names := models.roots(gv)
	for _, kind := range kinds {
		if _, compiled := v.kinds[kind]; compiled {
			continue
		}
		v.nodes++
		compiled, nodes, err := models.compile(d.ctx, gv.Group, names[kind], maxCachedNodes-v.nodes)
		if errors.Is(err, budget.ErrWait) || d.ctx.Err() != nil {
			return errors.Join(err, d.ctx.Err())
		}
		if compiled != nil {
			compiled.writes, compiled.listed = operations.writesOf(gv.WithKind(kind))
		}
		v.kinds[kind] = compiled
		v.nodes += nodes
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
	timed, cancel := context.WithTimeout(ctx, documentTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(timed, http.MethodGet, c.base.JoinPath(path...).String(), nil)
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
