package componenttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// errStopped is what a process sees that has ended.
var errStopped = errors.New("the process has been stopped")

// longestDelay bounds what requests and watch events wait.
const longestDelay = 300 * time.Millisecond

// Injector puts faults before the requests of one operator. It is safe for concurrent use.
type Injector struct {
	faults Faults

	mu    sync.Mutex
	step  string
	left  int
	count int
	// sent counts equal requests. stale has the things whose last answer from the cloud was stale.
	sent    map[string]int
	stale   map[string]bool
	crashes []int
	// cloudCrashes are the calls of the cloud, by method, at which the process crashes.
	cloudCrashes map[string][]int
	// crashed counts the crashes by request.
	crashed map[string]int
	// life ends when the process crashes.
	life  context.Context
	crash context.CancelFunc
	// underWay counts the requests that the API server works on.
	underWay      int
	last          time.Time
	start         time.Time
	log           []string
	met           map[Fault]int
	tally         tally
	pastResponses pastResponses
}

// NewInjector returns an injector whose first step has begun. Crashes happen in the steps of a Scenario only.
func NewInjector(ctx context.Context, f Faults) *Injector {
	i := &Injector{
		faults: f.withDefaults(), start: time.Now(), met: map[Fault]int{}, stale: map[string]bool{},
		crashed: map[string]int{}, tally: newTally(),
	}
	i.revive(ctx)
	i.begin("", nil, nil)
	return i
}

// Config returns a copy of a configuration whose clients meet the faults.
func (i *Injector) Config(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(i.Wrap)
	return config
}

// Wrap is for rest.Config.Wrap. What it returns serves the process that runs now, and refuses everything after that
// one's crash.
func (i *Injector) Wrap(next http.RoundTripper) http.RoundTripper {
	i.mu.Lock()
	defer i.mu.Unlock()
	return &connection{injector: i, next: next, life: i.life}
}

// Log tells what happened so far, in words.
func (i *Injector) Log() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return append([]string(nil), i.log...)
}

// counts says how many requests met which fault.
func (i *Injector) counts() map[Fault]int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return maps.Clone(i.met)
}

// cloudCrashCounts says how often the process crashed in the calls of each method of the cloud.
func (i *Injector) cloudCrashCounts() map[string]int {
	i.mu.Lock()
	defer i.mu.Unlock()
	found := map[string]int{}
	for _, method := range cloudMethods {
		found[method] = i.crashed["cloud "+method]
	}
	return found
}

// begin starts a step with its own bound of faults.
func (i *Injector) begin(step string, crashes []int, cloudCrashes map[string][]int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.cloudCrashes = cloudCrashes
	i.step, i.left, i.count, i.crashes, i.sent = step, i.faults.Most, 0, crashes, map[string]int{}
	i.tell("begins")
}

// revive lets a new process begin, and returns a context that ends with its crash.
func (i *Injector) revive(ctx context.Context) context.Context {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.crash != nil {
		i.crash()
	}
	i.life, i.crash = context.WithCancel(ctx)
	i.tell("a process begins")
	return i.life
}

// requests returns how many there were in this step, how many are under way, and when the last one began.
func (i *Injector) requests() (count, underWay int, last time.Time) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.count, i.underWay, i.last
}

// draw decides what a request meets; the dice say how.
func (i *Injector) draw(r *http.Request) (Fault, *rand.Rand) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.count++
	i.last = time.Now()
	request := r.Method + " " + r.URL.Path
	if isWatch(r) {
		request += " watch"
	}
	i.sent[request]++
	d := i.faults.dice(i.step, request, i.sent[request])
	if len(i.crashes) > 0 && i.count >= i.crashes[0] {
		// Counted again by the next process.
		i.crashes, i.count = i.crashes[1:], 0
		i.note(Crash, request)
		return Crash, d
	}
	possible := i.faults.possible(r)
	if i.left < 1 || len(possible) == 0 || d.IntN(100) >= i.faults.Percent {
		return "", d
	}
	fault := possible[d.IntN(len(possible))]
	i.left--
	i.note(fault, request)
	return fault, d
}

func (i *Injector) note(fault Fault, request string) {
	i.met[fault]++
	if fault == Crash {
		i.crashed[request]++
	}
	i.tell("%s meets %s", request, fault)
}

// tell adds a line to the log.
func (i *Injector) tell(format string, args ...any) {
	at := time.Since(i.start).Round(time.Millisecond)
	i.log = append(i.log, fmt.Sprintf("%7s %s: %s", at, i.step, fmt.Sprintf(format, args...)))
}

func (i *Injector) enter(n int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.underWay += n
}

// connection is the way of one process to the API server.
type connection struct {
	injector *Injector
	next     http.RoundTripper
	life     context.Context
}

// RoundTrip implements http.RoundTripper.
func (c *connection) RoundTrip(r *http.Request) (*http.Response, error) {
	if c.life.Err() != nil {
		return nil, errStopped
	}
	if isExempt(r.URL.Path) {
		return c.next.RoundTrip(r)
	}
	fault, dice := c.injector.draw(r)
	switch fault {
	case Conflict, TooManyRequests, InternalError, Expired:
		return answer(r, fault), nil
	case Unsent:
		return nil, &timeout{r.Method, r.URL.Path}
	case Unanswered:
		return nil, errors.Join(&timeout{r.Method, r.URL.Path}, c.lose(r))
	case Crash:
		return nil, c.stop(r, dice.IntN(2) == 0)
	case Stale:
		if old := c.injector.pastResponses.recall(r, dice); old != nil {
			return old, nil
		}
	case Delay:
		if err := pause(r.Context(), time.Duration(dice.Int64N(int64(longestDelay)))); err != nil {
			return nil, err
		}
	case Cut, Lag: // They concern what comes by the watch.
	case CloudDelay, CloudError, CloudLimit, CloudLost, CloudTwice, CloudStale, CloudForget: // They concern a Cloud.
	}
	return c.forward(r, fault, dice)
}

// forward lets a request through, and what comes by a watch with the faults of watches.
func (c *connection) forward(r *http.Request, fault Fault, dice *rand.Rand) (*http.Response, error) {
	if isWatch(r) {
		return c.watch(r, fault, dice)
	}
	return c.send(r)
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// send lets a request through. A write that is under way is not called back: so it is known what came of it.
func (c *connection) send(r *http.Request) (*http.Response, error) {
	c.injector.enter(1)
	defer c.injector.enter(-1)
	if r.Method != http.MethodGet {
		r = r.WithContext(context.WithoutCancel(r.Context()))
	}
	response, err := c.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	return response, c.injector.learn(r, response)
}

// lose sends a request and drops its answer.
func (c *connection) lose(r *http.Request) error {
	response, err := c.send(r)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// stop ends the process at a request, before it is sent or after the API server carried it out.
func (c *connection) stop(r *http.Request, unanswered bool) error {
	c.injector.mu.Lock()
	end := c.injector.crash
	c.injector.mu.Unlock()
	if unanswered && !isWatch(r) {
		err := c.lose(r)
		end()
		return errors.Join(errStopped, err)
	}
	end()
	return errStopped
}

// timeout is what a client sees that waited too long.
type timeout struct{ method, path string }

func (t *timeout) Error() string   { return t.method + " " + t.path + ": no answer in time" }
func (t *timeout) Timeout() bool   { return true }
func (t *timeout) Temporary() bool { return true }

// codes are those of the answers that are made up.
var codes = map[Fault]int{
	Conflict: http.StatusConflict, TooManyRequests: http.StatusTooManyRequests,
	InternalError: http.StatusInternalServerError, Expired: http.StatusGone,
}

// answer makes up what an API server would say.
func answer(r *http.Request, fault Fault) *http.Response {
	code, header := codes[fault], http.Header{"Content-Type": {"application/json"}}
	if fault == TooManyRequests {
		header.Set("Retry-After", "1")
	}
	body := fmt.Sprintf(
		`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"message":"made up by a test","code":%d}`,
		fault, code)
	return newResponse(r, code, header, []byte(body))
}

func newResponse(r *http.Request, code int, header http.Header, body []byte) *http.Response {
	return &http.Response{
		StatusCode:    code,
		Status:        fmt.Sprint(code, " ", http.StatusText(code)),
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        header,
		Body:          io.NopCloser(bytes.NewReader(body)),
		ContentLength: int64(len(body)),
		Request:       r,
	}
}
