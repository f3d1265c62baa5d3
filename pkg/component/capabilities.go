package component

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"

	"github.com/fairlead-io/fairlead/pkg/component/internal/observe"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// discoveryPauses are how long after a definition changed discovery is read: once many changes at a time are over, and once more, because
// discovery tells of a type some time after its definition does.
var discoveryPauses = []time.Duration{time.Second, 4 * time.Second}

// discoveryTimeout bounds one reading of discovery, and discoveryPatience how long a worker waits for one.
const (
	discoveryTimeout  = 30 * time.Second
	discoveryPatience = 10 * time.Second
)

var errSlowDiscovery = fmt.Errorf("no answer within %s", discoveryPatience)

// discoverer is what tells what an API server is and serves.
type discoverer interface {
	ServerVersionWithContext(ctx context.Context) (*version.Info, error)
	ServerGroupsAndResourcesWithContext(ctx context.Context) ([]*metav1.APIGroup, []*metav1.APIResourceList, error)
}

// serving knows what an API server is and serves. Discovery is read when somebody asks for the first time, and when a definition changed.
type serving struct {
	discovery discoverer
	// lifetime bounds that of all reading.
	lifetime context.Context
	// follow begins to tell of changes.
	follow func(event func())
	kick   chan struct{}
	// reading makes all who ask before anything is known wait for the same answer.
	reading singleflight.Group

	// mu is not held while discovery is read: who comes or goes does not wait for an API server.
	mu     sync.Mutex
	begun  bool
	now    served
	owners map[string]servedOwner
}

// served is what an API server serves.
type served struct {
	generator.Capabilities
	extent
	// groups are the kinds, by group and version.
	groups map[string][]string
}

// extent tells what is served from what else may be.
type extent struct {
	digest string
	// unanswered are the groups and versions, in order, that did not answer since discovery was read for the first time: nothing is known of what
	// they serve. The digest is without them.
	unanswered []string
}

// servedOwner is a component that rendered with what was served.
type servedOwner struct {
	digest string
	wake   func()
}

func newServing(ctx context.Context, c *connection) *serving {
	s := &serving{discovery: c.discovery, lifetime: ctx, kick: make(chan struct{}, 1), owners: map[string]servedOwner{}}
	s.follow = func(event func()) {
		observe.FollowDefinitions(ctx, c.metadata, event, event)
		go s.run(ctx)
	}
	return s
}

// current returns what is served, as far as it is known. A worker does not wait for long: what an API server that is slow tells is there for the
// next one who asks.
func (s *serving) current(ctx context.Context) (served, error) {
	err := s.first(ctx)
	now := s.known()
	if len(now.unanswered) > 0 {
		// No event tells that a group answers again.
		s.changed()
	}
	return now, err
}

// first reads discovery if nobody did before, once for all who ask meanwhile.
func (s *serving) first(ctx context.Context) error {
	read := s.reading.DoChan("", func() (any, error) {
		if s.known().digest != "" {
			return nil, nil
		}
		return nil, s.refresh()
	})
	ctx, cancel := context.WithTimeoutCause(ctx, discoveryPatience, errSlowDiscovery)
	defer cancel()
	select {
	case result := <-read:
		return result.Err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// known returns what was read last.
func (s *serving) known() served {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// retain says what a component rendered with; it is woken when something else is served.
func (s *serving) retain(owner, digest string, wake func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.owners[owner] = servedOwner{digest: digest, wake: wake}
	if digest != s.now.digest {
		wake()
	}
}

func (s *serving) release(owner string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.owners, owner)
}

// changed notes that a definition changed.
func (s *serving) changed() {
	select {
	case s.kick <- struct{}{}:
	default:
	}
}

// run reads discovery after changes.
func (s *serving) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.kick:
		}
		for _, pause := range discoveryPauses {
			timer := time.NewTimer(pause)
			select {
			case <-ctx.Done():
				timer.Stop()
				return
			case <-timer.C:
			}
			if err := s.refresh(); err != nil {
				// What cannot be read is tried again.
				s.changed()
			}
		}
	}
}

// refresh reads discovery, and wakes those who rendered with something else. The first success begins to follow changes.
func (s *serving) refresh() error {
	read, err := s.read(s.known())
	if err == nil {
		s.learn(read)
	}
	return err
}

// learn takes over what was read.
func (s *serving) learn(read served) {
	s.mu.Lock()
	defer s.mu.Unlock()
	answered := !slices.Equal(s.now.unanswered, read.unanswered)
	s.now = read
	for _, owner := range s.owners {
		if answered || owner.digest != read.digest {
			owner.wake()
		}
	}
	if !s.begun {
		s.begun = true
		s.follow(s.changed)
	}
}

// read asks the API server what it is and serves. Of a group that does not answer, what was known stands: one broken aggregated API must
// neither break every rendering, nor change it.
func (s *serving) read(known served) (served, error) {
	ctx, cancel := context.WithTimeout(s.lifetime, discoveryTimeout)
	defer cancel()
	about, err := s.discovery.ServerVersionWithContext(ctx)
	if err != nil {
		return served{}, err
	}
	_, lists, err := s.discovery.ServerGroupsAndResourcesWithContext(ctx)
	if s.lifetime.Err() != nil {
		return served{}, s.lifetime.Err()
	}
	var failed *discovery.ErrGroupDiscoveryFailed
	if err != nil && !errors.As(err, &failed) {
		return served{}, err
	}
	now := served{Capabilities: generator.Capabilities{Version: *about}, groups: typesServed(lists)}
	if failed != nil {
		now = now.with(known, slices.Collect(maps.Keys(failed.Groups)))
	}
	for gv, kinds := range now.groups {
		now.APIVersions = append(now.APIVersions, gv)
		for _, kind := range kinds {
			now.APIVersions = append(now.APIVersions, gv+"/"+kind)
		}
	}
	slices.Sort(now.APIVersions)
	now.digest, err = manifests.Digest(now.Capabilities)
	return now, err
}

// with adds what was known of groups that do not answer. One that was not there when all that was there answered serves nothing yet.
func (n served) with(known served, failed []schema.GroupVersion) served {
	for _, gv := range failed {
		kinds, ok := known.groups[gv.String()]
		switch {
		case ok:
			n.groups[gv.String()] = kinds
		case known.digest == "" || slices.Contains(known.unanswered, gv.String()):
			n.unanswered = append(n.unanswered, gv.String())
		}
	}
	slices.Sort(n.unanswered)
	return n
}

// typesServed returns the kinds by group and version.
func typesServed(lists []*metav1.APIResourceList) map[string][]string {
	groups := make(map[string][]string, len(lists))
	for _, list := range lists {
		var kinds []string
		for _, r := range list.APIResources {
			if !strings.Contains(r.Name, "/") {
				kinds = append(kinds, r.Kind)
			}
		}
		slices.Sort(kinds)
		groups[list.GroupVersion] = slices.Compact(kinds)
	}
	return groups
}
