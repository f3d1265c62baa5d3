package logs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
)

// stream is a log with its next line.
type stream struct {
	container Container
	lines     *reader
	head      line
}

// Print writes the existing lines of the containers, merged by their timestamps. If logs cannot be read, Print writes
// the lines of the other logs. Then it returns the error that determines the exit code, and calls warn with other
// errors.
func Print(
	ctx context.Context, opener Opener, containers []Container, o Options, out io.Writer, warn func(error),
) error {
	streams, failures := open(ctx, opener, containers, o)
	breaks, err := merge(streams, &printer{options: o, out: out})
	if err != nil {
		return err
	}
	if failures = append(failures, breaks...); len(failures) == 0 {
		return nil
	}
	if ctx.Err() != nil {
		// After an interruption, all logs have errors, which are not reported.
		return ctx.Err()
	}
	decisive := exit.Decisive(failures)
	for i, err := range failures {
		if i != decisive {
			warn(err)
		}
	}
	return failures[decisive]
}

// open opens the logs of all containers at the same time. It returns the streams and the errors.
func open(ctx context.Context, opener Opener, containers []Container, o Options) ([]*stream, []error) {
	streams := make([]*stream, len(containers))
	failures := make([]error, len(containers))
	var opening sync.WaitGroup
	for i, container := range containers {
		opening.Go(func() {
			log, err := opener.Log(ctx, container.Namespace, container.Pod, o.request(container.Name, false))
			if err != nil {
				failures[i] = fmt.Errorf("%s: %w", container, err)
				return
			}
			context.AfterFunc(ctx, func() { _ = log.Close() })
			streams[i] = &stream{container: container, lines: newReader(log)}
		})
	}
	opening.Wait()
	return slices.DeleteFunc(streams, func(s *stream) bool { return s == nil }),
		slices.DeleteFunc(failures, func(err error) bool { return err == nil })
}

// merge writes the lines in the order of their timestamps. Lines with equal timestamps are in the order of the streams.
// Breaks contains the errors of logs whose connection was interrupted, and err is the error of a failed write.
func merge(streams []*stream, p *printer) (breaks []error, err error) {
	more := func(s *stream) bool {
		ended := s.advance()
		if ended != nil && !errors.Is(ended, io.EOF) {
			breaks = append(breaks, fmt.Errorf("%s: %w", s.container, ended))
		}
		return ended == nil
	}
	var left []*stream
	for _, s := range streams {
		if more(s) {
			left = append(left, s)
		}
	}
	for len(left) > 0 {
		oldest := 0
		for i, s := range left {
			if s.head.at.Before(left[oldest].head.at) {
				oldest = i
			}
		}
		s := left[oldest]
		if err := p.print(s.container, s.head); err != nil {
			return nil, err
		}
		if !more(s) {
			left = slices.Delete(left, oldest, oldest+1)
		}
	}
	return breaks, nil
}

// advance reads the next line of a stream. It returns io.EOF at the end of the log.
func (s *stream) advance() error {
	next, err := s.lines.next()
	if err == nil {
		s.head = next
	}
	return err
}
