package discovery

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
)

// resetInterval is the minimum time between two resets. Resets are limited because each reset makes the mapper read
// discovery again completely.
const resetInterval = 2 * time.Second

// mapper is a RESTMapper with Reset. The mapper of controller-runtime reads unknown types from the API server, but
// never reads a known type again, although a definition may drop a version, or be created again with another scope.
type mapper struct {
	build func() (meta.RESTMapper, error)
	clock clock.PassiveClock
	// reset is called by every call of Reset. It may be nil.
	reset func()
	// versions reads from the API server which versions serve a kind. If it is nil, the wrapped mapper finds the version.
	versions func(gk schema.GroupKind) ([]string, error)
	// missing is called for a kind that the API server does not serve in any of the versions, or in any version if there
	// are none. It may be nil.
	missing func(gk schema.GroupKind, versions ...string)

	mu      sync.RWMutex
	current meta.RESTMapper
	built   time.Time
	resets  int
	// mappings caches the results of current, by GroupVersionKind, and by GroupKind for any version. Every write needs a
	// mapping, and current would search all groups for the mapping.
	mappings *sync.Map
}

func newMapper(build func() (meta.RESTMapper, error), c clock.PassiveClock) (*mapper, error) {
	current, err := build()
	if err != nil {
		return nil, err
	}
	return &mapper{build: build, clock: c, current: current, built: c.Now(), mappings: &sync.Map{}}, nil
}

// Reset implements meta.ResettableRESTMapper: it drops all cached types, unless the last reset was less than
// resetInterval ago. It sends no request. The next call that needs a type reads discovery.
func (m *mapper) Reset() {
	if m.reset != nil {
		m.reset()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.clock.Since(m.built) < resetInterval {
		return
	}
	if current, err := m.build(); err == nil {
		m.current, m.built, m.mappings = current, m.clock.Now(), &sync.Map{}
		m.resets++
	}
}

// resetCount returns how many times the cached types were dropped.
func (m *mapper) resetCount() int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.resets
}

// beneath returns the wrapped mapper of controller-runtime, which each reset replaces.
func (m *mapper) beneath() meta.RESTMapper {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.current
}

// KindFor implements meta.RESTMapper.
func (m *mapper) KindFor(r schema.GroupVersionResource) (schema.GroupVersionKind, error) {
	return m.beneath().KindFor(r)
}

// KindsFor implements meta.RESTMapper.
func (m *mapper) KindsFor(r schema.GroupVersionResource) ([]schema.GroupVersionKind, error) {
	return m.beneath().KindsFor(r)
}

// ResourceFor implements meta.RESTMapper.
func (m *mapper) ResourceFor(r schema.GroupVersionResource) (schema.GroupVersionResource, error) {
	return m.beneath().ResourceFor(r)
}

// ResourcesFor implements meta.RESTMapper.
func (m *mapper) ResourcesFor(r schema.GroupVersionResource) ([]schema.GroupVersionResource, error) {
	return m.beneath().ResourcesFor(r)
}

// RESTMapping implements meta.RESTMapper.
func (m *mapper) RESTMapping(gk schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	mapping, err := m.mapping(gk, versions...)
	if m.missing != nil && meta.IsNoMatchError(err) {
		m.missing(gk, versions...)
	}
	return mapping, err
}

func (m *mapper) mapping(gk schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	m.mu.RLock()
	current, mappings := m.current, m.mappings
	m.mu.RUnlock()
	if len(versions) == 0 {
		return m.anyVersion(current, mappings, gk)
	}
	if len(versions) > 1 {
		return current.RESTMapping(gk, versions...)
	}
	gvk := gk.WithVersion(versions[0])
	if known, ok := mappings.Load(gvk); ok {
		if mapping, ok := known.(*meta.RESTMapping); ok {
			return mapping, nil
		}
	}
	mapping, err := current.RESTMapping(gk, versions...)
	if err == nil {
		mappings.Store(gvk, mapping)
	}
	return mapping, err
}

// anyVersion finds a kind in any version. The wrapped mapper has two faults here. It caches the versions of a group,
// and does not find a version that is added later. It also reads the whole of discovery for each group that is not
// served. So anyVersion reads the versions of the group from the API server, and calls the wrapped mapper only with a
// version.
func (m *mapper) anyVersion(
	current meta.RESTMapper, mappings *sync.Map, gk schema.GroupKind,
) (*meta.RESTMapping, error) {
	if gk.Group == "" || m.versions == nil {
		return current.RESTMapping(gk)
	}
	if known, ok := mappings.Load(gk); ok {
		if mapping, ok := known.(*meta.RESTMapping); ok {
			return mapping, nil
		}
	}
	served, failure := m.versions(gk)
	for _, version := range served {
		if mapping, err := current.RESTMapping(gk, version); err == nil {
			mappings.Store(gk, mapping)
			return mapping, nil
		}
	}
	if failure != nil {
		return nil, failure
	}
	return nil, &meta.NoKindMatchError{GroupKind: gk, SearchedVersions: served}
}

// RESTMappings implements meta.RESTMapper.
func (m *mapper) RESTMappings(gk schema.GroupKind, versions ...string) ([]*meta.RESTMapping, error) {
	return m.beneath().RESTMappings(gk, versions...)
}

// ResourceSingularizer implements meta.RESTMapper.
func (m *mapper) ResourceSingularizer(resource string) (string, error) {
	return m.beneath().ResourceSingularizer(resource)
}
