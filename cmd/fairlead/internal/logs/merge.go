package logs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"golang.org/x/sync/errgroup"
)

// stream is a log that is being merged.
type stream struct {
	source Source
	lines  *reader
	head   line
}

// Print writes the logs of sources as they are, merged by the times of their lines. A log that cannot be read is an error, which hides no other:
// the first is returned when all else is shown, and warn is told of those after it.
func Print(ctx context.Context, opener Opener, sources []Source, o Options, out io.Writer, warn func(error)) error {
	streams := make([]*stream, len(sources))
	failures := make([]error, len(sources))
	var opening errgroup.Group
	for i, source := range sources {
		opening.Go(func() error {
			log, err := opener.Log(ctx, source.Namespace, source.Pod, o.request(source.Container, false))
			if err != nil {
				failures[i] = fmt.Errorf("%s: %w", source, err)
				return nil
			}
			context.AfterFunc(ctx, func() { _ = log.Close() })
			streams[i] = &stream{source: source, lines: newReader(log)}
			return nil
		})
	}
	if err := opening.Wait(); err != nil {
		return err
	}
	failed := slices.DeleteFunc(failures, func(err error) bool { return err == nil })
	if err := merge(streams, &printer{options: o, out: out}, warn); err != nil || len(failed) == 0 {
		return err
	}
	for _, err := range failed[1:] {
		warn(err)
	}
	return failed[0]
}

// merge writes the oldest line again and again. Of lines of the same time the one of the first source comes first.
func merge(streams []*stream, p *printer, warn func(error)) error {
	var open []*stream
	for _, s := range streams {
		if s != nil && s.advance(warn) {
			open = append(open, s)
		}
	}
	for len(open) > 0 {
		oldest := 0
		for i, s := range open {
			if s.head.at.Before(open[oldest].head.at) {
				oldest = i
			}
		}
		s := open[oldest]
		if err := p.print(s.source, s.head); err != nil {
			return err
		}
		if !s.advance(warn) {
			open = append(open[:oldest], open[oldest+1:]...)
		}
	}
	return nil
}

// advance reads the next line of a stream, and tells whether there is one.
func (s *stream) advance(warn func(error)) bool {
	next, err := s.lines.next()
	if err != nil {
		if !errors.Is(err, io.EOF) {
			warn(fmt.Errorf("%s: %w", s.source, err))
		}
		return false
	}
	s.head = next
	return true
}
