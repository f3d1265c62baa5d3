package faults_test

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// world is what the components of a namespace depend on outside Kubernetes: services that are polled, and a queue. It
// also receives the reports of the operator.
type world struct {
	mu sync.Mutex
	// busy is set while the sources of the operator come and go.
	busy bool
	// failures is the number of calls that may still fail.
	failures int
	dice     *rand.Rand
	// polled and mail are the values of components by name, answers the values by address.
	polled, mail, answers map[string]string
	// posted counts the changes of mail.
	posted int
	// cycles counts how often a source was removed and added again.
	cycles int

	// life is the number of the operator's process. Reports of earlier processes are ignored.
	life int
	// seen are the values that the last pass over each component saw.
	seen map[string]map[string]string
	// lastPass is the time of the last pass over the component app, and pollsSince counts the polls since then.
	lastPass   time.Time
	pollsSince int
	vitals     vitals
}

// vitals are the numbers of watches and goroutines that the sources of an operator use, and of sources in memory.
type vitals struct {
	// Busy is set while sources come and go.
	Busy    bool
	Watches int
	// Goroutines is the smallest number since the sources stay. It is zero unless the operator has its own process.
	Goroutines int
	// Removed is the smallest number of removed sources in memory since the sources stay, with the same exception.
	Removed int
}

// slowest is the longest delay of an answer with the content of the queue.
const slowest = 40 * time.Millisecond

// worlds contains the world of each namespace.
type worlds struct {
	*httptest.Server
	mu     sync.Mutex
	worlds map[string]*world
}

func newWorlds(t *testing.T) *worlds {
	t.Helper()
	w := &worlds{worlds: map[string]*world{}}
	mux := http.NewServeMux()
	for path, answer := range map[string]func(*world, *http.Request) (any, error){
		"/life": (*world).begin, "/polled": (*world).poll, "/answer": (*world).answer, "/mail": (*world).letters,
		"/queue": (*world).queue, "/seen": (*world).report, "/vitals": (*world).reportVitals,
	} {
		mux.HandleFunc("/{namespace}"+path, func(rw http.ResponseWriter, r *http.Request) {
			result, err := answer(w.of(r.PathValue("namespace")), r)
			if strings.HasSuffix(r.URL.Path, "/mail") {
				pause(r.Context(), rand.N(slowest)) // Values may arrive before an answer that is older.
			}
			if err == nil {
				err = json.NewEncoder(rw).Encode(result)
			}
			if err != nil {
				http.Error(rw, err.Error(), http.StatusInternalServerError)
			}
		})
	}
	w.Server = httptest.NewServer(mux)
	t.Cleanup(w.Close)
	return w
}

func (w *worlds) of(namespace string) *world {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.worlds[namespace] == nil {
		hash := fnv.New64a()
		_, _ = hash.Write([]byte(namespace)) // A hash never fails.
		w.worlds[namespace] = &world{
			dice: rand.New(rand.NewPCG(hash.Sum64(), 1)), seen: map[string]map[string]string{},
			polled: map[string]string{}, mail: map[string]string{}, answers: map[string]string{},
		}
	}
	return w.worlds[namespace]
}

// expectCycles fails the test unless the sources of each run were removed and added again at least so often.
func (w *worlds) expectCycles(t *testing.T, least int) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	total := 0
	for namespace, world := range w.worlds {
		world.mu.Lock()
		cycles := world.cycles
		world.mu.Unlock()
		if total += cycles; cycles < least {
			t.Errorf("%s: sources came and went only %d times, want at least %d", namespace, cycles, least)
		}
	}
	t.Logf("sources came and went %d times in %d runs", total, len(w.worlds))
}

// begin returns the number of a new process.
func (w *world) begin(*http.Request) (any, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.life++
	w.vitals = vitals{Busy: true}
	return w.life, nil
}

// fail returns an error for some calls. The caller holds the lock.
func (w *world) fail() error {
	if w.failures > 0 && w.dice.IntN(8) == 0 {
		w.failures--
		return fmt.Errorf("a failure of a service, by a test")
	}
	return nil
}

func (w *world) poll(*http.Request) (any, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pollsSince++
	return maps.Clone(w.polled), w.fail()
}

func (w *world) answer(r *http.Request) (any, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	address := r.FormValue("address")
	return address + "=" + w.answers[address], w.fail()
}

// mailbox is the content of the queue.
type mailbox struct {
	Posted int
	Values map[string]string
}

func (w *world) letters(*http.Request) (any, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return mailbox{w.posted, maps.Clone(w.mail)}, w.fail()
}

// queue answers when there are changes that the caller does not know, or after a second.
func (w *world) queue(r *http.Request) (any, error) {
	after, err := strconv.Atoi(r.FormValue("after"))
	for range 100 {
		w.mu.Lock()
		current := mailbox{w.posted, maps.Clone(w.mail)}
		w.mu.Unlock()
		if err != nil || current.Posted != after {
			return current, err
		}
		select {
		case <-r.Context().Done():
			return nil, r.Context().Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
	return mailbox{Posted: after}, nil
}

// report stores the values that a pass saw.
func (w *world) report(r *http.Request) (any, error) {
	var seen map[string]string
	if err := json.NewDecoder(r.Body).Decode(&seen); err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.FormValue("life") != strconv.Itoa(w.life) {
		return nil, nil
	}
	name := r.FormValue("name")
	w.seen[name] = seen
	if name == "app" {
		w.lastPass, w.pollsSince = time.Now(), 0
	}
	return nil, nil
}

// reportVitals stores the vitals of an operator, and returns whether sources come and go.
func (w *world) reportVitals(r *http.Request) (any, error) {
	var reported vitals
	if err := json.NewDecoder(r.Body).Decode(&reported); err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if reported.Busy {
		w.cycles++
	}
	if r.FormValue("life") == strconv.Itoa(w.life) {
		if !w.vitals.Busy && !reported.Busy {
			reported.Goroutines = min(reported.Goroutines, w.vitals.Goroutines)
			reported.Removed = min(reported.Removed, w.vitals.Removed)
		}
		w.vitals = reported
	}
	return w.busy, nil
}

// change changes the world.
func (w *world) change(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

// ask calls the world from an operator.
func ask[V any](ctx context.Context, base, path string, body any) (value V, err error) {
	text, err := json.Marshal(body)
	if err != nil {
		return value, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, base+path, strings.NewReader(string(text)))
	if err != nil {
		return value, err
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return value, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return value, fmt.Errorf("%s: %s", path, response.Status)
	}
	return value, json.NewDecoder(response.Body).Decode(&value)
}
