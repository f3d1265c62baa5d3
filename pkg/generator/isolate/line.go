package isolate

import (
	"context"
	"slices"
	"sync"
)

// line admits a number of requests at the same time. The others wait. The namespaces of the requests take turns, and
// the requests of a namespace are admitted in their order, so that a namespace with many requests delays the requests
// of another namespace by one rendering at most for each child.
type line struct {
	mu   sync.Mutex
	free int
	// waiting are the waiting requests by namespace, and turns the namespaces with waiting requests. The first namespace
	// is next.
	waiting map[string][]chan struct{}
	turns   []string
}

func newLine(places int) *line { return &line{free: places, waiting: map[string][]chan struct{}{}} }

// enter waits until the request is admitted. The caller calls leave afterwards, unless enter returns an error.
func (l *line) enter(ctx context.Context, namespace string) error {
	l.mu.Lock()
	if l.free > 0 {
		l.free--
		l.mu.Unlock()
		return nil
	}
	admitted := make(chan struct{})
	if len(l.waiting[namespace]) == 0 {
		l.turns = append(l.turns, namespace)
	}
	l.waiting[namespace] = append(l.waiting[namespace], admitted)
	l.mu.Unlock()
	select {
	case <-admitted:
		return nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	at := slices.Index(l.waiting[namespace], admitted)
	if at >= 0 {
		l.remove(namespace, at)
	}
	l.mu.Unlock()
	if at < 0 {
		// The request was admitted at the same time.
		l.leave()
	}
	return ctx.Err()
}

// leave admits the next request.
func (l *line) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.turns) == 0 {
		l.free++
		return
	}
	next := l.turns[0]
	admitted := l.waiting[next][0]
	l.remove(next, 0)
	if len(l.waiting[next]) > 0 {
		l.turns = append(l.turns[1:], next)
	}
	close(admitted)
}

// remove removes a waiting request. The caller holds the lock.
func (l *line) remove(namespace string, at int) {
	l.waiting[namespace] = slices.Delete(l.waiting[namespace], at, at+1)
	if len(l.waiting[namespace]) == 0 {
		delete(l.waiting, namespace)
		l.turns = slices.DeleteFunc(l.turns, func(name string) bool { return name == namespace })
	}
}
