package rendering

import (
	"errors"
	"io/fs"
	"sync"

	"k8s.io/utils/lru"

	"github.com/fairlead-io/fairlead/pkg/generator"
)

// keptSources is the maximum number of cached parsed sources, for a generator that renders the sources in requests. Few
// sources are used at the same time, because components render only when their inputs change.
const keptSources = 16

// Parsed returns the parsed source of a generator: either the generator's own source, or the source in each request.
// Concurrent renderings share the parsed source, so they must not change it.
type Parsed[T any] struct {
	parse func(fs.FS) (T, error)
	fixed *T

	mu   sync.Mutex
	kept *lru.Cache
}

// NewParsed parses source once for all requests. If source is nil, the source in each request is parsed instead.
func NewParsed[T any](source fs.FS, parse func(fs.FS) (T, error)) (*Parsed[T], error) {
	if source == nil {
		return &Parsed[T]{parse: parse, kept: lru.New(keptSources)}, nil
	}
	fixed, err := parse(source)
	if err != nil {
		return nil, err
	}
	return &Parsed[T]{fixed: &fixed}, nil
}

// For returns the parsed source for a request. A source in a request is parsed once per digest, or each time if the
// request has no digest.
func (p *Parsed[T]) For(req generator.Request) (T, error) {
	if p.fixed != nil {
		return *p.fixed, nil
	}
	if req.Source == nil {
		var none T
		return none, errors.New("no source: neither the generator nor the component has manifests to render")
	}
	if req.SourceDigest == "" {
		return p.parse(req.Source)
	}
	parsed, err := p.keep(req.SourceDigest, req.Source)()
	if err != nil {
		// The error may come from the file system instead of the content, so it is not cached.
		p.kept.Remove(req.SourceDigest)
	}
	return parsed, err
}

// keep returns a function that parses a source once. All callers with the same digest get the same function.
func (p *Parsed[T]) keep(digest string, source fs.FS) func() (T, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if kept, found := p.kept.Get(digest); found {
		if once, ok := kept.(func() (T, error)); ok {
			return once
		}
	}
	once := sync.OnceValues(func() (T, error) { return p.parse(source) })
	p.kept.Add(digest, once)
	return once
}
