package notification

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	eventv1 "github.com/fluxcd/pkg/apis/event/v1"
	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/fairlead-io/fairlead/internal/backoff"
	"github.com/fairlead-io/fairlead/pkg/addresses"
)

// newPoster returns a Poster for a URL, with three quick attempts, and its log.
func newPoster(t *testing.T, place string) (*Poster, *logged) {
	t.Helper()
	address, err := ParseAddress(place)
	if err != nil {
		t.Fatal(err)
	}
	log := &logged{}
	p, err := New(address, log.logger(), prometheus.NewPedanticRegistry())
	if err != nil {
		t.Fatal(err)
	}
	p.limits = limits{
		backoff: backoff.Backoff{First: time.Millisecond, Last: 2 * time.Millisecond}, attempts: 3, age: time.Minute,
		grace: 5 * time.Second,
	}
	return p, log
}

// logged are the lines of a log.
type logged struct {
	mu    sync.Mutex
	lines []string
}

func (l *logged) logger() logr.Logger {
	return funcr.New(func(_, args string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.lines = append(l.lines, args)
	}, funcr.Options{})
}

func (l *logged) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.lines...)
}

// counts returns the number of Events for each result.
func counts(t *testing.T, p *Poster) map[result]int {
	t.Helper()
	found := map[result]int{}
	for _, r := range []result{resultPosted, resultRepeated, resultRefused, resultFailed, resultDropped} {
		var m dto.Metric
		if err := p.results.WithLabelValues(string(r)).Write(&m); err != nil {
			t.Fatal(err)
		}
		if n := int(m.GetCounter().GetValue()); n > 0 {
			found[r] = n
		}
	}
	return found
}

// send adds an Event.
func (p *Poster) send(text string) {
	p.lose(resultDropped, p.queue.add(item{body: []byte(text), at: p.clock.Now()}), errFull)
}

// statuses answers requests with these statuses, the last one again and again.
func statuses(all ...int) func(int, http.ResponseWriter, *http.Request) {
	return func(n int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(all[min(n, len(all))-1]) }
}

func TestAnswersOfAReceiver(t *testing.T) {
	var followed atomic.Int32
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { followed.Add(1) }))
	defer elsewhere.Close()
	redirect := func(status int) func(int, http.ResponseWriter, *http.Request) {
		return func(_ int, w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL, status) }
	}
	const noAnswer = "exceeded" // The text depends on the moment of the timeout.
	for _, c := range []struct {
		name     string
		answer   func(n int, w http.ResponseWriter, r *http.Request)
		requests int32
		want     result
		cause    string
	}{
		{"200", statuses(http.StatusOK), 1, resultPosted, ""},
		{"202, as Flux's notification-controller answers", statuses(http.StatusAccepted), 1, resultPosted, ""},
		{"429 for an Event that was sent before", statuses(http.StatusTooManyRequests), 1, resultRepeated, ""},
		{"400 is not tried again", statuses(http.StatusBadRequest), 1, resultRefused, "answered with status 400"},
		{"401 is not tried again", statuses(http.StatusUnauthorized), 1, resultRefused, "answered with status 401"},
		{
			"413 is not tried again", statuses(http.StatusRequestEntityTooLarge), 1, resultRefused,
			"answered with status 413",
		},
		{"500 is tried again", statuses(http.StatusInternalServerError, http.StatusAccepted), 2, resultPosted, ""},
		{"408 is tried again", statuses(http.StatusRequestTimeout, http.StatusAccepted), 2, resultPosted, ""},
		{
			"503 has a maximum of attempts", statuses(http.StatusServiceUnavailable), 3, resultFailed,
			"answered with status 503",
		},
		{"a redirect is not followed", redirect(http.StatusFound), 1, resultRefused, "answered with status 302"},
		{
			"a redirect that keeps the method is not followed", redirect(http.StatusTemporaryRedirect), 1, resultRefused,
			"answered with status 307",
		},
		{
			"no answer in time",
			func(_ int, _ http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				<-r.Context().Done()
			},
			3, resultFailed, noAnswer,
		},
		{
			"a body without an end is not read",
			func(_ int, w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(http.StatusAccepted)
				for r.Context().Err() == nil {
					_, _ = w.Write(make([]byte, 1<<20))
				}
			},
			1, resultPosted, "",
		},
		{
			"the body of an error is not quoted",
			func(_ int, w http.ResponseWriter, _ *http.Request) { http.Error(w, "hidden", http.StatusBadRequest) },
			1, resultRefused, "answered with status 400",
		},
		{
			"a header above the limit",
			func(_ int, w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("X-Large", strings.Repeat("x", 2*maxHeaderBytes))
			},
			3, resultFailed, "server response headers exceeded",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var requests atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				c.answer(int(requests.Add(1)), w, r)
			}))
			defer server.Close()
			p, log := newPoster(t, server.URL+"/events?token=hidden")
			if c.cause == noAnswer {
				p.client.Timeout = 200 * time.Millisecond
			}
			stop := p.Start(t.Context())
			p.send("{}")
			for deadline := time.Now().Add(20 * time.Second); len(counts(t, p)) == 0 && time.Now().Before(deadline); {
				time.Sleep(time.Millisecond)
			}
			stop()
			if diff := cmp.Diff(map[result]int{c.want: 1}, counts(t, p)); diff != "" || requests.Load() != c.requests {
				t.Errorf("%d requests, results %s", requests.Load(), diff)
			}
			lines := strings.Join(log.all(), "\n")
			if strings.Contains(lines, "hidden") || !strings.Contains(lines, c.cause) || c.cause == "" && lines != "" {
				t.Errorf("logged %q", lines)
			}
		})
	}
	if n := followed.Load(); n != 0 {
		t.Errorf("%d redirects were followed", n)
	}
}

func TestAReceiverThatRefusesConnections(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	place := "http://" + listener.Addr().String()
	_ = listener.Close()
	p, log := newPoster(t, place+"/hidden")
	if failures := p.deliver(t.Context(), item{body: []byte("{}"), at: p.clock.Now()}, 0); failures != 3 {
		t.Errorf("%d failures", failures)
	}
	lines := strings.Join(log.all(), "\n")
	if counts(t, p)[resultFailed] != 1 || !strings.Contains(lines, "refused") || strings.Contains(lines, "hidden") {
		t.Errorf("%v, logged %s", counts(t, p), lines)
	}
}

func TestANameThatLeadsToTheOwnHostIsRefused(t *testing.T) {
	var requests atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	defer server.Close()
	p, _ := newPoster(t, server.URL)
	p.client = newClient("events.example.com")
	r, err := p.post(t.Context(), nil)
	if _, refused := errors.AsType[*addresses.Error](err); !refused || r != resultFailed || requests.Load() != 0 {
		t.Errorf("got %s, %v, %d requests", r, err, requests.Load())
	}
}

func TestARequestIsAnEventOfFlux(t *testing.T) {
	requests := make(chan *http.Request, 1)
	bodies := make(chan []byte, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.WriteHeader(http.StatusAccepted)
		requests <- r
		bodies <- body
	}))
	defer server.Close()
	p, _ := newPoster(t, server.URL+"/")
	defer p.Start(t.Context())()
	body, err := json.Marshal(newMessage(shop(), kindOfComponents, nil, text{reason: "Ready", note: "x"}, now))
	if err != nil {
		t.Fatal(err)
	}
	p.send(string(body))
	r := <-requests
	if r.Method != http.MethodPost || r.URL.Path != "/" || r.Header.Get("Content-Type") != "application/json" ||
		!strings.HasPrefix(r.UserAgent(), "fairlead-operator/") {
		t.Errorf("got %s %s, %v", r.Method, r.URL, r.Header)
	}
	var got eventv1.Event
	if err := json.Unmarshal(<-bodies, &got); err != nil || got.InvolvedObject.Name != "shop" || got.Reason != "Ready" {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestAMetricIsRegisteredOnce(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	if _, err := New(&url.URL{Host: "events.example.com"}, logr.Discard(), registry); err != nil {
		t.Fatal(err)
	}
	if _, err := New(&url.URL{Host: "events.example.com"}, logr.Discard(), registry); err == nil {
		t.Error("the metric was registered twice")
	}
}
