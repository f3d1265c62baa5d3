package isolate

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"runtime/metrics"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/lru"

	"github.com/fairlead-io/fairlead/pkg/generator"
)

// Bounds of the caches of a child.
const (
	cachedSources      = 16
	cachedSourceBytes  = 4 << 20
	cachedCapabilities = 16
)

// child renders in a child process, one request at a time.
type child struct {
	codec     codec
	in        io.Reader
	build     func() (generator.Generator, *runtime.Scheme, error)
	generator generator.Generator
	scheme    *runtime.Scheme
	timeout   time.Duration
	// sources and capabilities are those of earlier requests, by digest.
	sources, capabilities *lru.Cache

	// writing protects out and the field ended of sessions.
	writing sync.Mutex
	out     io.Writer

	mu sync.Mutex
	// last is the ID of the last question, and waiting has the questions without an answer.
	last    uint64
	waiting map[uint64]chan *answer
}

func newChild(
	in io.Reader, out io.Writer, build func() (generator.Generator, *runtime.Scheme, error),
) (*child, error) {
	codec, err := newCodec()
	return &child{
		codec: codec, in: bufio.NewReader(in), out: out, build: build, waiting: map[uint64]chan *answer{},
		sources: lru.New(cachedSources), capabilities: lru.New(cachedCapabilities),
	}, err
}

// serve handles messages until the parent closes the pipe.
func (c *child) serve(ctx context.Context) error {
	for {
		m, err := c.codec.read(ctx, c.in)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case m.Setup != nil:
			if err := c.codec.write(c.out, message{Ready: c.setUp(*m.Setup)}); err != nil {
				return err
			}
		case m.Render != nil:
			if c.generator == nil {
				return errors.New("a rendering before the setup")
			}
			go c.render(ctx, *m.Render)
		case m.Answer != nil:
			c.mu.Lock()
			waiting := c.waiting[m.Answer.ID]
			delete(c.waiting, m.Answer.ID)
			c.mu.Unlock()
			if waiting != nil {
				waiting <- m.Answer
			}
		}
	}
}

// setUp confines the process, and builds the generator afterwards.
func (c *child) setUp(s setup) *ready {
	c.timeout = s.Timeout
	missing, err := confine(s)
	if err != nil {
		return &ready{Failed: err.Error()}
	}
	if c.generator, c.scheme, err = c.build(); err != nil {
		return &ready{Failed: fmt.Sprintf("build the generator: %v", err)}
	}
	return &ready{Missing: missing}
}

// render renders a request and sends the result.
func (c *child) render(ctx context.Context, j job) {
	allowTime(c.timeout)
	// The generator should end by itself before the parent kills the process.
	ctx, cancel := context.WithTimeout(ctx, c.timeout-min(time.Second, c.timeout/10))
	defer cancel()
	s := &session{child: c, job: j, asked: map[string]bool{}, askedExports: map[string]bool{}}
	o := s.run(ctx)
	s.mu.Lock()
	o.Results, o.Origins, o.Versions, o.Asked = s.results, s.origins, s.versions, slices.Sorted(maps.Keys(s.asked))
	o.AskedExports = slices.Sorted(maps.Keys(s.askedExports))
	s.mu.Unlock()
	o.Memory = heldMemory()
	c.writing.Lock()
	defer c.writing.Unlock()
	s.ended = true
	if err := c.codec.write(c.out, message{Done: o}); err != nil {
		// The result is too large or cannot be encoded. An error of the pipe ends the process in serve.
		_ = c.codec.write(c.out, message{Done: &outcome{Failure: failureOf(err), Memory: o.Memory}})
	}
}

// heldMemory returns the memory that the process has obtained from the system.
func heldMemory() uint64 {
	samples := []metrics.Sample{
		{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
	}
	metrics.Read(samples)
	return samples[0].Value.Uint64() - samples[1].Value.Uint64()
}
