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

// batch is what the watch delivered since the last batch.
type batch struct {
	// secrets are the Secrets that exist, and deleted those that were deleted or lost their label, by name.
	secrets, deleted map[types.NamespacedName]*metav1.PartialObjectMetadata
	// listed are the namespaces whose Secrets are all in the batch; an empty name means all namespaces.
	listed map[string]bool
}

func newBatch() batch {
	return batch{
		secrets: map[types.NamespacedName]*metav1.PartialObjectMetadata{},
		deleted: map[types.NamespacedName]*metav1.PartialObjectMetadata{},
		listed:  map[string]bool{},
	}
}

// queue contains the Secrets that the Collector has to check, each in the latest version that the watch delivered. It
// implements observe.LabelledHandler.
type queue struct {
	refused func(message string)

	mu     sync.Mutex
	next   batch
	filled chan struct{}
}

func newQueue(refused func(message string)) *queue {
	return &queue{refused: refused, next: newBatch(), filled: make(chan struct{}, 1)}
}

// Listed implements observe.LabelledHandler.
func (q *queue) Listed(namespace string, secrets ...*metav1.PartialObjectMetadata) {
	q.mu.Lock()
	q.next.listed[namespace] = true
	q.mu.Unlock()
	q.Updated(secrets...)
}

// Updated implements observe.LabelledHandler.
func (q *queue) Updated(secrets ...*metav1.PartialObjectMetadata) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, secret := range secrets {
		name := client.ObjectKeyFromObject(secret)
		q.next.secrets[name] = secret
		delete(q.next.deleted, name)
	}
	q.signal()
}

// Deleted implements observe.LabelledHandler.
func (q *queue) Deleted(secret *metav1.PartialObjectMetadata) {
	q.mu.Lock()
	defer q.mu.Unlock()
	name := client.ObjectKeyFromObject(secret)
	delete(q.next.secrets, name)
	if ownerIDOf(secret.Name) != "" {
		q.next.deleted[name] = secret
		q.signal()
	}
}

// again adds a batch that could not be checked. What the watch delivered since is newer.
func (q *queue) again(b batch) {
	q.mu.Lock()
	defer q.mu.Unlock()
	newer := q.next
	q.next = b
	maps.Copy(q.next.listed, newer.listed)
	for name, secret := range newer.secrets {
		q.next.secrets[name] = secret
		delete(q.next.deleted, name)
	}
	for name, secret := range newer.deleted {
		q.next.deleted[name] = secret
		delete(q.next.secrets, name)
	}
	q.signal()
}

// later adds Secrets to the queue after a pause, unless the watch has delivered newer versions of them by then.
func (q *queue) later(pause time.Duration, secrets []*metav1.PartialObjectMetadata) {
	if len(secrets) == 0 {
		return
	}
	time.AfterFunc(pause, func() {
		b := newBatch()
		for _, secret := range secrets {
			b.secrets[client.ObjectKeyFromObject(secret)] = secret
		}
		q.again(b)
	})
}

func (q *queue) signal() {
	select {
	case q.filled <- struct{}{}:
	default:
	}
}

// Forbidden implements observe.LabelledHandler.
func (q *queue) Forbidden(message string) { q.refused(message) }

// take waits until the watch has delivered something, and then for the time collectInterval. It returns the content of
// the queue and empties it. The batch is empty when ctx ends.
func (q *queue) take(ctx context.Context) batch {
	select {
	case <-ctx.Done():
		return batch{}
	case <-q.filled:
	}
	select {
	case <-ctx.Done():
		return batch{}
	case <-time.After(collectInterval):
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	taken := q.next
	q.next = newBatch()
	return taken
}

// all returns the Secrets of a batch.
func (b batch) all() []*metav1.PartialObjectMetadata { return slices.Collect(maps.Values(b.secrets)) }
