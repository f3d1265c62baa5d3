package records

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// collectInterval is the time for which the queue waits for further Secrets after the first Secret has arrived.
const collectInterval = time.Second

// queue contains the Secrets that the Collector has to check, each in the latest version that the watch delivered. It
// implements observe.LabelledHandler.
type queue struct {
	refused func(message string)

	mu      sync.Mutex
	secrets map[types.NamespacedName]*metav1.PartialObjectMetadata
	filled  chan struct{}
}

func newQueue(refused func(message string)) *queue {
	return &queue{
		refused: refused, secrets: map[types.NamespacedName]*metav1.PartialObjectMetadata{}, filled: make(chan struct{}, 1),
	}
}

// Updated implements observe.LabelledHandler.
func (q *queue) Updated(secrets ...*metav1.PartialObjectMetadata) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, secret := range secrets {
		q.secrets[client.ObjectKeyFromObject(secret)] = secret
	}
	select {
	case q.filled <- struct{}{}:
	default:
	}
}

// Deleted implements observe.LabelledHandler.
func (q *queue) Deleted(secret *metav1.PartialObjectMetadata) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.secrets, client.ObjectKeyFromObject(secret))
}

// Forbidden implements observe.LabelledHandler.
func (q *queue) Forbidden(message string) { q.refused(message) }

// take waits until the queue has a Secret, and then for the time collectInterval. It returns the content of the queue
// and empties it. It returns nil when ctx ends.
func (q *queue) take(ctx context.Context) []*metav1.PartialObjectMetadata {
	select {
	case <-ctx.Done():
		return nil
	case <-q.filled:
	}
	select {
	case <-ctx.Done():
		return nil
	case <-time.After(collectInterval):
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	secrets := slices.Collect(maps.Values(q.secrets))
	clear(q.secrets)
	return secrets
}
