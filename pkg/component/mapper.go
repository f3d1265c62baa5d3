package component

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
)

// discoveryInterval is how often the whole of discovery is read again at the most.
const discoveryInterval = 2 * time.Second

// forgetfulMapper is a RESTMapper that can be told to forget what it knows: the mapper beneath asks the API server for types that it does
// not know, but never again for those that it does, although a definition may drop a version, or come back with another scope.
type forgetfulMapper struct {
	build func() (meta.RESTMapper, error)
	clock clock.PassiveClock

	mu     sync.RWMutex
	mapper meta.RESTMapper
	built  time.Time
	resets int
	// mappings are those of mapper that were asked for, by GroupVersionKind. Every write needs one, and finding it takes longer than it
	// looks: all groups are gone through.
	mappings *sync.Map
}

func newForgetfulMapper(build func() (meta.RESTMapper, error), c clock.PassiveClock) (*forgetfulMapper, error) {
	mapper, err := build()
	if err != nil {
		return nil, err
	}
	return &forgetfulMapper{build: build, clock: c, mapper: mapper, built: c.Now(), mappings: &sync.Map{}}, nil
}

// Reset forgets all types, unless that was done a moment ago; whoever finds a mapping wrong after that asks again. It makes no request:
// that is left to the next mapping.
func (m *forgetfulMapper) Reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.clock.Since(m.built) < discoveryInterval {
		return
	}
	if mapper, err := m.build(); err == nil {
		m.mapper, m.built, m.mappings = mapper, m.clock.Now(), &sync.Map{}
		m.resets++
	}
}

// forgotten says how often all types were forgotten.
func (m *forgetfulMapper) forgotten() int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.resets
}

func (m *forgetfulMapper) current() meta.RESTMapper {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.mapper
}

// KindFor implements meta.RESTMapper.
func (m *forgetfulMapper) KindFor(r schema.GroupVersionResource) (schema.GroupVersionKind, error) {
	return m.current().KindFor(r)
}

// KindsFor implements meta.RESTMapper.
func (m *forgetfulMapper) KindsFor(r schema.GroupVersionResource) ([]schema.GroupVersionKind, error) {
	return m.current().KindsFor(r)
}

// ResourceFor implements meta.RESTMapper.
func (m *forgetfulMapper) ResourceFor(r schema.GroupVersionResource) (schema.GroupVersionResource, error) {
	return m.current().ResourceFor(r)
}

// ResourcesFor implements meta.RESTMapper.
func (m *forgetfulMapper) ResourcesFor(r schema.GroupVersionResource) ([]schema.GroupVersionResource, error) {
	return m.current().ResourcesFor(r)
}

// RESTMapping implements meta.RESTMapper.
func (m *forgetfulMapper) RESTMapping(gk schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	if len(versions) != 1 {
		return m.current().RESTMapping(gk, versions...)
	}
	m.mu.RLock()
	mapper, mappings := m.mapper, m.mappings
	m.mu.RUnlock()
	gvk := gk.WithVersion(versions[0])
	if known, ok := mappings.Load(gvk); ok {
		if mapping, ok := known.(*meta.RESTMapping); ok {
			return mapping, nil
		}
	}
	mapping, err := mapper.RESTMapping(gk, versions...)
	if err == nil {
		mappings.Store(gvk, mapping)
	}
	return mapping, err
}

// RESTMappings implements meta.RESTMapper.
func (m *forgetfulMapper) RESTMappings(gk schema.GroupKind, versions ...string) ([]*meta.RESTMapping, error) {
	return m.current().RESTMappings(gk, versions...)
}

// ResourceSingularizer implements meta.RESTMapper.
func (m *forgetfulMapper) ResourceSingularizer(resource string) (string, error) {
	return m.current().ResourceSingularizer(resource)
}
