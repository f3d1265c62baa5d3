package logs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// retryAfter is the delay after a failed read of a log.
const retryAfter = time.Second

// Follower shows new lines of logs. Its methods may be called from several goroutines.
type Follower struct {
	opener  Opener
	options Options
	printer *printer
	warn    func(error)
	limit   int

	mu      sync.Mutex
	begun   map[Container]bool
	running int
	work    sync.WaitGroup
}

// NewFollower returns a Follower that follows at most limit logs at the same time.
func NewFollower(opener Opener, o Options, limit int, out io.Writer, warn func(error)) *Follower {
	return &Follower{
		opener: opener, options: o, printer: &printer{options: o, out: out}, warn: warn, limit: limit,
		begun: map[Container]bool{},
	}
}

// ErrTooMany means that there are more logs than the limit of a Follower.
var ErrTooMany = errors.New("there are more logs than the maximum")

// Add follows the containers that are not followed yet. If began is true, it shows their logs from the beginning,
// because their containers started after the Follower.
func (f *Follower) Add(ctx context.Context, containers []Container, began bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range containers {
		if f.begun[s] {
			continue
		}
		if f.running == f.limit {
			return fmt.Errorf("%s: %w (%d)", s, ErrTooMany, f.limit)
		}
		f.begun[s] = true
		f.running++
		options := f.options
		if began {
			options.Tail, options.Since = -1, 0
		}
		f.work.Go(func() {
			f.follow(ctx, s, options)
			f.mu.Lock()
			defer f.mu.Unlock()
			f.running--
		})
	}
	return nil
}

// Wait waits until all logs have ended.
func (f *Follower) Wait() { f.work.Wait() }

// follow shows a log until its container ends. After an interrupted connection, it resumes after the last line.
func (f *Follower) follow(ctx context.Context, s Container, o Options) {
	request := o.request(s.Name, true)
	var last time.Time
	for {
		err := f.stream(ctx, s, request, &last)
		switch {
		case ctx.Err() != nil, err == nil:
			return
		case isFinal(err):
			f.warn(fmt.Errorf("%s: %w", s, err))
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(retryAfter):
		}
		if !last.IsZero() {
			request.TailLines, request.SinceSeconds, request.SinceTime = nil, nil, new(metav1.NewTime(last))
		}
	}
}

// isFinal reports whether a retry would fail with the same error.
func isFinal(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err) ||
		apierrors.IsUnauthorized(err)
}

// stream shows the lines of a log after the time last. The end of the log is not an error.
func (f *Follower) stream(ctx context.Context, s Container, request *corev1.PodLogOptions, last *time.Time) error {
	log, err := f.opener.Log(ctx, s.Namespace, s.Pod, request)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	resumed := *last
	for lines := newReader(log); ; {
		next, err := lines.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		// The API server accepts only whole seconds, so it may return lines that were already shown.
		if !resumed.IsZero() && !next.at.After(resumed) {
			continue
		}
		if err := f.printer.print(s, next); err != nil {
			return nil
		}
		*last = next.at
	}
}
