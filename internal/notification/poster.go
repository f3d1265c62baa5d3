package notification

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"

	"github.com/fairlead-io/fairlead/internal/backoff"
	"github.com/fairlead-io/fairlead/internal/version"
)

// limits are the limits of the attempts to post an Event.
type limits struct {
	backoff backoff.Backoff
	// attempts is the maximum number of attempts for an Event, so that an Event that the receiver cannot handle does not
	// hold up the others for long.
	attempts int
	// age is the age above which an Event is lost. It limits the burst after the receiver was away.
	age time.Duration
	// grace is the time for the last Events when the process ends.
	grace time.Duration
}

// defaults are the limits of a Poster.
var defaults = limits{
	backoff:  backoff.Backoff{First: time.Second, Last: time.Minute},
	attempts: 10, age: 15 * time.Minute, grace: 2 * time.Second,
}

// keptRepeats is the number of components whose last message is kept, to find repeated messages.
const keptRepeats = 4096

// Poster posts Events to an address.
type Poster struct {
	address *url.URL
	client  *http.Client
	limits  limits
	clock   clock.PassiveClock
	losses  *losses
	results *prometheus.CounterVec
	queue   *queue
	// repeats contains the last message about each component; see isRepeated.
	repeats *lru.Cache
}

// New returns a Poster for an address of ParseAddress. The metric is added to a registry; it is an error if the
// registry has it already.
func New(address *url.URL, log logr.Logger, registry prometheus.Registerer) (*Poster, error) {
	results := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "fairlead_notifications_total",
		Help: "Events for the address of --events-address, by result: posted, repeated (sent before), refused, failed " +
			"(no attempt was successful), dropped (the queue was full, or the operator stopped).",
	}, []string{"result"})
	if err := registry.Register(results); err != nil {
		return nil, err
	}
	return &Poster{
		address: address, client: newClient(address.Hostname()), limits: defaults, clock: clock.RealClock{},
		losses: &losses{log: log}, results: results, queue: newQueue(), repeats: lru.New(keptRepeats),
	}, nil
}

// Start begins to post Events, and returns at once. stop must be called once, when no more Events are created. It posts
// the Events in the queue, each in one attempt and all within the grace, and returns when no request is under way.
func (p *Poster) Start(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.postAll(ctx)
	}()
	return func() {
		p.queue.close()
		timer := time.AfterFunc(p.limits.grace, cancel)
		<-ended
		timer.Stop()
		cancel()
		p.lose(resultDropped, p.queue.drop(), errStopped)
		p.losses.flush()
	}
}

// postAll posts the Events of the queue until it is closed and empty, or the context ends.
func (p *Poster) postAll(ctx context.Context) {
	failures := 0
	for {
		i, found := p.queue.next(ctx)
		if !found {
			return
		}
		failures = p.deliver(ctx, i, failures)
	}
}

// deliver posts an Event in as many attempts as necessary. failures is the number of failed attempts in a row, for all
// Events, before and after the call.
func (p *Poster) deliver(ctx context.Context, i item, failures int) int {
	err := errAge
	for attempt := 1; attempt <= p.limits.attempts && p.clock.Since(i.at) <= p.limits.age; attempt++ {
		var r result
		if r, err = p.post(ctx, i.body); r != resultFailed {
			p.count(r, err)
			return 0
		}
		failures++
		select {
		case <-time.After(backoff.Around(p.limits.backoff.After(failures), jitter)):
		case <-p.queue.closing:
			p.lose(resultDropped, 1, err)
			return failures
		}
	}
	p.lose(resultFailed, 1, err)
	return failures
}

// jitter is the part by which a delay between two attempts varies.
const jitter = 0.2

// post makes one attempt to post a body. The error is nil if the receiver has the Event.
func (p *Poster) post(ctx context.Context, body []byte) (result, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.address.String(), bytes.NewReader(body))
	if err != nil {
		return resultRefused, withoutURL(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "fairlead-operator/"+version.Version)
	response, err := p.client.Do(request)
	if err != nil {
		return resultFailed, withoutURL(err)
	}
	_ = response.Body.Close() // The body is not read.
	if r := resultOf(response.StatusCode); r != resultPosted && r != resultRepeated {
		return r, fmt.Errorf("the receiver answered with status %d", response.StatusCode)
	}
	return resultOf(response.StatusCode), nil
}

// withoutURL returns an error of package http without the URL of the request.
func withoutURL(err error) error {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return failed.Err
	}
	return err
}
