package component

import (
	"context"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// sightings collects Secrets until somebody looks at them.
type sightings struct {
	refused func(message string)

	mu    sync.Mutex
	seen  map[types.NamespacedName]*metav1.PartialObjectMetadata
	there chan struct{}
}

func newSightings(refused func(message string)) *sightings {
	return &sightings{refused: refused, seen: map[types.NamespacedName]*metav1.PartialObjectMetadata{}, there: make(chan struct{}, 1)}
}

// See implements observe.Marks.
func (s *sightings) See(secrets ...*metav1.PartialObjectMetadata) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, secret := range secrets {
		s.seen[client.ObjectKeyFromObject(secret)] = secret
	}
	select {
	case s.there <- struct{}{}:
	default:
	}
}

// Gone implements observe.Marks. Who lets a Secret go in order need not be asked after.
func (s *sightings) Gone(secret *metav1.PartialObjectMetadata) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.seen, client.ObjectKeyFromObject(secret))
}

// Refused implements observe.Marks.
func (s *sightings) Refused(message string) { s.refused(message) }

// take returns what was collected, when there is something, and a while after that. It returns nil when ctx ends.
func (s *sightings) take(ctx context.Context) []*metav1.PartialObjectMetadata {
	select {
	case <-ctx.Done():
		return nil
	case <-s.there:
	}
	select {
	case <-ctx.Done():
		return nil
	case <-time.After(sweepPause):
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	secrets := make([]*metav1.PartialObjectMetadata, 0, len(s.seen))
	for _, secret := range s.seen {
		secrets = append(secrets, secret)
	}
	clear(s.seen)
	return secrets
}
