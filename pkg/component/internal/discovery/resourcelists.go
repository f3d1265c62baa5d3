package discovery

import (
	"context"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
)

// resourceListLifetime is the time for which a list of resources is cached. It is so short that no watch event is
// needed to drop outdated lists.
const resourceListLifetime = 2 * time.Second

// resourceLists caches the resources of groups and versions. The cached discovery of client-go is not used, because its
// entries do not expire, and its first call reads all groups.
type resourceLists struct {
	server interface {
		ServerResourcesForGroupVersionWithContext(ctx context.Context, groupVersion string) (*metav1.APIResourceList, error)
	}
	clock clock.PassiveClock

	mu    sync.Mutex
	known map[schema.GroupVersion]resourceList
}

// resourceList is a list of resources, with the time when the request for it was sent.
type resourceList struct {
	resources []metav1.APIResource
	asked     time.Time
}

func newResourceLists(server interface {
	ServerResourcesForGroupVersionWithContext(ctx context.Context, groupVersion string) (*metav1.APIResourceList, error)
}, c clock.PassiveClock,
) *resourceLists {
	return &resourceLists{server: server, clock: c, known: map[schema.GroupVersion]resourceList{}}
}

// of returns the resources of a group and version. Errors are not cached.
func (l *resourceLists) of(ctx context.Context, gv schema.GroupVersion) ([]metav1.APIResource, error) {
	asked := l.clock.Now()
	l.mu.Lock()
	// The field known is read only once here, because forget replaces the map. So the response to a request that was sent
	// before forget is stored in the previous map, and is dropped with it.
	known := l.known
	list, ok := known[gv]
	l.mu.Unlock()
	if ok && asked.Sub(list.asked) < resourceListLifetime {
		return list.resources, nil
	}
	read, err := l.server.ServerResourcesForGroupVersionWithContext(ctx, gv.String())
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	known[gv] = resourceList{read.APIResources, asked}
	return read.APIResources, nil
}

// last returns the resources of a group and version as they were read last; none if they were not read since forget.
func (l *resourceLists) last(gv schema.GroupVersion) []metav1.APIResource {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.known[gv].resources
}

// forget drops all lists.
func (l *resourceLists) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.known = map[schema.GroupVersion]resourceList{}
}
