package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/test/testcluster"
)

const (
	// operatorAgent is the prefix of the user agent of the operator's requests, including requests as the identity of a
	// component.
	operatorAgent = "fairlead-operator"
	// quietTime is the time without a request after which the operator is assumed to be done. quietTimeout is the
	// maximum time to wait until the operator is quiet.
	quietTime    = time.Second
	quietTimeout = 30 * time.Second
	glance       = 250 * time.Millisecond
)

// measurement is a sample, and the requests of all clients during the sample.
type measurement struct {
	sample
	events testcluster.Events
}

// measure runs work, which must return when the measured state is reached. It returns the cost for the operator until
// the operator is quiet again. The operator is quiet before work starts. If work restarts the operator, only the usage
// of the new process is counted.
func (s *stage) measure(ctx context.Context, name string, work func(context.Context) error) (measurement, error) {
	from, err := s.quiet(ctx)
	if err != nil {
		return measurement{}, err
	}
	if err := s.operator.forgetPeak(); err != nil {
		return measurement{}, err
	}
	before, err := s.operator.usage(ctx)
	if err != nil {
		return measurement{}, err
	}
	finishProfile := s.startProfile(ctx, name)
	begin := time.Now()
	err = work(ctx)
	seconds := time.Since(begin).Seconds()
	if err != nil {
		return measurement{}, errors.Join(err, finishProfile())
	}
	to, err := s.quiet(ctx)
	if err = errors.Join(err, finishProfile()); err != nil {
		return measurement{}, err
	}
	after, err := s.operator.usage(ctx)
	if err != nil {
		return measurement{}, err
	}
	elapsed := time.Since(begin).Seconds()
	if after.pid != before.pid {
		before = usage{}
	}
	events := to[len(from):]
	return measurement{events: events, sample: sample{
		Seconds: seconds, Elapsed: elapsed,
		CPUSeconds:  after.cpuSeconds - before.cpuSeconds,
		PeakRSS:     after.peakRSS,
		Passes:      after.passes - before.passes,
		Requests:    count(events.Where(isOperators), after.passes-before.passes),
		OtherAgents: byAgent(events.Where(func(e testcluster.Event) bool { return !isOperators(e) })),
	}}, nil
}

func isOperators(e testcluster.Event) bool {
	return strings.HasPrefix(e.UserAgent, operatorAgent)
}

// quiet waits until the operator has sent no request for a while, except for leases and watches. It returns all
// requests so far.
func (s *stage) quiet(ctx context.Context) (testcluster.Events, error) {
	ctx, cancel := context.WithTimeoutCause(
		ctx,
		quietTimeout,
		fmt.Errorf("the operator is not quiet within %s", quietTimeout),
	)
	defer cancel()
	for {
		events, err := s.cluster.AuditEvents(ctx)
		if err != nil {
			return nil, err
		}
		if time.Since(lastOfOperator(events)) >= quietTime {
			return events, nil
		}
		select {
		case <-time.After(glance):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// lastOfOperator returns the time at which the operator's last request was answered, or the zero time if it sent none.
func lastOfOperator(events testcluster.Events) time.Time {
	var last time.Time
	for _, e := range events {
		if c := classify(e); isOperators(e) && c != classLease && c != classWatch && e.Answered.After(last) {
			last = e.Answered
		}
	}
	return last
}
