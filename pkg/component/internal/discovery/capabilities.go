package discovery

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"

	"github.com/fairlead-io/fairlead/internal/digests"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

// Capabilities are the version of an API server and the types that it serves, according to the last reading of
// discovery.
type Capabilities struct {
	generator.Capabilities
	Summary
	// kinds are the kinds that the API server serves, by group and version.
	kinds map[string][]string
	// outdated are the groups whose discovery failed, so that their kinds are those of an earlier reading.
	outdated map[string]bool
}

// Summary identifies capabilities, so that the capabilities of two renderings can be compared.
type Summary struct {
	// Digest identifies the version of the API server, and the kinds that it serves.
	Digest string
	// Undiscovered are the groups and versions, sorted, whose discovery failed each time since the first reading. Their
	// kinds are not known and are missing in Digest.
	Undiscovered []string
}

// refreshPauses are the pauses before the two readings of discovery that follow a watch event on definitions. The first
// pause lets a burst of watch events end. The second reading is needed because the API server may serve a type only
// some time after its definition changed.
var refreshPauses = []time.Duration{time.Second, 4 * time.Second}

// readTimeout is the timeout of one reading of discovery. firstWait is the maximum time for which a caller waits for
// the first reading.
const (
	readTimeout = 30 * time.Second
	firstWait   = 10 * time.Second
)

var errNoAnswerYet = fmt.Errorf("no response within %s", firstWait)

// capabilityServer is the part of a discovery client that is needed to read capabilities.
type capabilityServer interface {
	ServerVersionWithContext(ctx context.Context) (*version.Info, error)
	ServerGroupsAndResourcesWithContext(ctx context.Context) ([]*metav1.APIGroup, []*metav1.APIResourceList, error)
}

// capabilityCache caches the capabilities of an API server, and calls its subscribers when the capabilities change.
// Discovery is read at the first call of current, and after watch events on definitions.
type capabilityCache struct {
	server capabilityServer
	// lifetime is the parent of the contexts of all requests.
	lifetime context.Context
	// follow starts run and a watch on definitions, whose watch events call refreshSoon. It is called once, after the
	// first reading.
	follow func()
	kick   chan struct{}
	// first makes all callers that need the first reading wait for the same requests.
	first singleflight.Group

	// mu is not locked while discovery is read, so that subscribe and unsubscribe never wait for the API server.
	mu        sync.Mutex
	following bool
	last      Capabilities
	// contradicted is set after the API server gave another answer about a kind than last. Then the next reading wakes all
	// subscribers, even if it equals last, because the kind may have been deleted and defined again since last was read.
	contradicted bool
	subscribers  map[string]subscriber
}

// subscriber is a component that was rendered for the capabilities with a digest. wake is called when the capabilities
// change.
type subscriber struct {
	digest string
	wake   func()
}

func newCapabilityCache(ctx context.Context, server capabilityServer) *capabilityCache {
	return &capabilityCache{
		server: server, lifetime: ctx, follow: func() {},
		kick: make(chan struct{}, 1), subscribers: map[string]subscriber{},
	}
}

// current returns the capabilities. It reads discovery only if discovery was never read. If some groups are
// undiscovered, it also starts a refresh.
func (c *capabilityCache) current(ctx context.Context) (Capabilities, error) {
	err := c.readFirst(ctx)
	last := c.known()
	if len(last.Undiscovered) > 0 {
		// There is no watch event when the discovery of these groups works again, so each call that returns incomplete
		// capabilities starts a new reading.
		c.refreshSoon()
	}
	return last, err
}

// readFirst reads discovery if it was not read before. Concurrent callers share one reading. If it takes longer than
// firstWait, the callers get an error, and the reading continues for later callers.
func (c *capabilityCache) readFirst(ctx context.Context) error {
	read := c.first.DoChan("", func() (any, error) {
		if c.known().Digest != "" {
			return nil, nil
		}
		return nil, c.refresh()
	})
	ctx, cancel := context.WithTimeoutCause(ctx, firstWait, errNoAnswerYet)
	defer cancel()
	select {
	case result := <-read:
		return result.Err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// known returns the capabilities that were read last, or the zero value before the first reading.
func (c *capabilityCache) known() Capabilities {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

func (c *capabilityCache) subscribe(owner, digest string, wake func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.subscribers[owner] = subscriber{digest: digest, wake: wake}
	if digest != c.last.Digest {
		wake()
	}
}

func (c *capabilityCache) unsubscribe(owner string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.subscribers, owner)
}

// answered notes what the API server answered, after the last reading, to the question whether it serves a kind in one
// of the versions, or in any version if there are none. Answers about a group whose discovery failed do not count: a
// group that does not respond looks like one that does not exist.
func (c *capabilityCache) answered(served bool, gk schema.GroupKind, versions ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last.Digest != "" && !c.last.outdated[gk.Group] && c.last.Serve(gk, versions...) != served {
		c.contradicted = true
	}
}

// refreshSoon makes the function run read discovery after the pauses in refreshPauses. It does not wait for the result.
func (c *capabilityCache) refreshSoon() {
	select {
	case c.kick <- struct{}{}:
	default:
	}
}

// run reads discovery after each refreshSoon, until ctx ends.
func (c *capabilityCache) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.kick:
		}
		for _, pause := range refreshPauses {
			timer := time.NewTimer(pause)
			select {
			case <-ctx.Done():
				timer.Stop()
				return
			case <-timer.C:
			}
			if err := c.refresh(); err != nil {
				// A failed reading is tried again.
				c.refreshSoon()
			}
		}
	}
}

// refresh reads discovery and stores the capabilities.
func (c *capabilityCache) refresh() error {
	read, err := c.read(c.known())
	if err == nil {
		c.keep(read)
	}
	return err
}

// keep stores capabilities, and wakes the subscribers that were rendered for capabilities with another digest. If the
// undiscovered groups changed, or an answer contradicted the previous capabilities, it wakes all subscribers. The first
// call starts the watch on definitions.
func (c *capabilityCache) keep(read Capabilities) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.contradicted || !slices.Equal(c.last.Undiscovered, read.Undiscovered)
	c.last, c.contradicted = read, false
	for _, s := range c.subscribers {
		if all || s.digest != read.Digest {
			s.wake()
		}
	}
	if !c.following {
		c.following = true
		c.follow()
	}
}

// read reads the version of the API server and the types that it serves. If the discovery of a group fails, its kinds
// from the previous reading are kept, so that a broken aggregated API neither makes renderings fail nor changes them.
func (c *capabilityCache) read(before Capabilities) (Capabilities, error) {
	ctx, cancel := context.WithTimeout(c.lifetime, readTimeout)
	defer cancel()
	about, err := c.server.ServerVersionWithContext(ctx)
	if err != nil {
		return Capabilities{}, err
	}
	_, lists, err := c.server.ServerGroupsAndResourcesWithContext(ctx)
	if c.lifetime.Err() != nil {
		return Capabilities{}, c.lifetime.Err()
	}
	var partial *discovery.ErrGroupDiscoveryFailed
	if err != nil && !errors.As(err, &partial) {
		return Capabilities{}, err
	}
	read := Capabilities{
		Capabilities: generator.Capabilities{Version: *about},
		kinds:        kindsByVersion(lists),
		outdated:     map[string]bool{},
	}
	if partial != nil {
		read.complete(before, slices.Collect(maps.Keys(partial.Groups)))
	}
	var served []string
	for gv, kinds := range read.kinds {
		served = append(served, gv)
		for _, kind := range kinds {
			served = append(served, gv+"/"+kind)
		}
	}
	read.APIVersions = generator.NewAPIVersions(served...)
	read.Digest, err = digestOf(read.Capabilities)
	return read, err
}

// digestOf returns the digest of capabilities. Statuses contain digests that depend on it, so a change of the digested
// data makes all components render again.
func digestOf(c generator.Capabilities) (string, error) {
	return digests.Of(struct {
		Version     version.Info
		APIVersions []string
	}{c.Version, c.APIVersions.All()})
}

// complete adds, from the previous reading, the kinds of the groups and versions whose discovery failed. If the
// previous reading succeeded for a group and version and did not contain it, that group and version is new and not
// served yet. Then it is not added to Undiscovered.
func (c *Capabilities) complete(before Capabilities, failed []schema.GroupVersion) {
	for _, gv := range failed {
		kinds, ok := before.kinds[gv.String()]
		switch {
		case ok:
			c.kinds[gv.String()] = kinds
			c.outdated[gv.Group] = true
		case before.Digest == "" || slices.Contains(before.Undiscovered, gv.String()):
			c.Undiscovered = append(c.Undiscovered, gv.String())
		}
	}
	slices.Sort(c.Undiscovered)
}

// Serve reports whether one of the versions of the group of a kind has the kind, or any version if there are none.
func (c Capabilities) Serve(gk schema.GroupKind, versions ...string) bool {
	for text, kinds := range c.kinds {
		gv, err := schema.ParseGroupVersion(text)
		if err == nil && gv.Group == gk.Group && slices.Contains(kinds, gk.Kind) &&
			(len(versions) == 0 || slices.Contains(versions, gv.Version)) {
			return true
		}
	}
	return false
}

// mayServe returns false if capabilities were read, and no version of the group of a kind had the kind.
func (c Capabilities) mayServe(gk schema.GroupKind) bool { return c.Digest == "" || c.Serve(gk) }

// kindsByVersion returns the kinds that are served, sorted, by group and version.
func kindsByVersion(lists []*metav1.APIResourceList) map[string][]string {
	all := make(map[string][]string, len(lists))
	for _, list := range lists {
		var kinds []string
		for _, r := range list.APIResources {
			if isMain(r) {
				kinds = append(kinds, r.Kind)
			}
		}
		slices.Sort(kinds)
		all[list.GroupVersion] = slices.Compact(kinds)
	}
	return all
}
