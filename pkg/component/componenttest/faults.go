package componenttest

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
)

// Fault is something that goes wrong with a request.
type Fault string

// The faults. Watches meet Cut, Lag and Expired, reads of single objects Stale, writes Conflict, and all requests the
// others.
const (
	// Delay lets the request wait.
	Delay Fault = "Delay"
	// Conflict answers 409 and does nothing.
	Conflict Fault = "Conflict"
	// TooManyRequests answers 429, with a Retry-After of a second, and does nothing.
	TooManyRequests Fault = "TooManyRequests"
	// InternalError answers 500 and does nothing.
	InternalError Fault = "InternalError"
	// Unsent times out before the request is sent.
	Unsent Fault = "Unsent"
	// Unanswered times out although the API server carried the request out: the answer is lost.
	Unanswered Fault = "Unanswered"
	// Stale answers a read with what the object was before.
	Stale Fault = "Stale"
	// Cut ends a watch after a moment, which loses nothing: the client goes on where it was.
	Cut Fault = "Cut"
	// Lag holds the events of a watch back for a moment.
	Lag Fault = "Lag"
	// Expired answers a watch with 410: the client has to list again.
	Expired Fault = "Expired"
	// Crash ends the process: the request is refused, or its answer lost, and nothing gets through from then on.
	Crash Fault = "Crash"
)

var (
	always = []Fault{Delay, TooManyRequests, InternalError, Unsent, Unanswered}
	every  = append(slices.Clone(always), Conflict, Stale, Cut, Lag, Expired, Crash,
		CloudDelay, CloudError, CloudLimit, CloudLost, CloudTwice, CloudStale, CloudForget)
)

// Faults say what goes wrong. The zero value lets everything go wrong now and then.
type Faults struct {
	// Seed decides which requests meet which fault: by their method and path, and by how often they were sent before.
	// So it does not matter in which order a process sends what it sends at once.
	Seed uint64
	// Percent of the requests that meet a fault; 12 by default.
	Percent int
	// Most is how many requests meet a fault in a step of a scenario, so that each step comes to its end; 16 by
	// default.
	Most int
	// Crashes is how often the process ends in a step, at the most; 2 by default, negative for never.
	Crashes int
	// Kinds are the faults that may happen; all by default.
	Kinds []Fault
}

func (f Faults) withDefaults() Faults {
	if f.Percent == 0 {
		f.Percent = 12
	}
	if f.Most == 0 {
		f.Most = 16
	}
	if f.Crashes == 0 {
		f.Crashes = 2
	}
	if len(f.Kinds) == 0 {
		f.Kinds = every
	}
	return f
}

// none are faults of which none ever happens.
func none() Faults { return Faults{Percent: -1, Crashes: -1} }

// dice returns the random numbers of a seed that belong to some words, and to nothing else.
func (f Faults) dice(words ...any) *rand.Rand {
	h := fnv.New64a()
	_, _ = fmt.Fprintln(h, words...) // A hash never fails.
	return rand.New(rand.NewPCG(f.Seed, h.Sum64()))
}

// possible are the faults that a request can meet.
func (f Faults) possible(r *http.Request) []Fault {
	kinds := slices.Clone(always)
	switch {
	case isWatch(r):
		kinds = []Fault{TooManyRequests, InternalError, Unsent, Cut, Cut, Lag, Lag, Expired}
	case r.Method != http.MethodGet:
		// What only writes can meet is what hurts most.
		kinds = append(kinds, Conflict, Unanswered)
	case isObject(r.URL.Path):
		kinds = append(kinds, Stale)
	}
	return slices.DeleteFunc(kinds, func(k Fault) bool { return !slices.Contains(f.Kinds, k) })
}

// crashes returns at which requests of a step the process ends, where the step takes about that many. With a cloud, it
// ends at half of the points in a call of the cloud: calls contains the numbers of the calls by method.
func (f Faults) crashes(step string, requests int, cloud bool) (points []int, calls map[string][]int) {
	calls = map[string][]int{}
	if f.Crashes < 1 || !slices.Contains(f.Kinds, Crash) {
		return nil, calls
	}
	d := f.dice("crashes", step)
	for range d.IntN(f.Crashes + 1) {
		if cloud && d.IntN(2) == 0 {
			method, number := cloudCrash(d)
			calls[method] = append(calls[method], number)
			continue
		}
		points = append(points, 1+d.IntN(max(requests, 8)))
	}
	slices.Sort(points)
	return points, calls
}

func isWatch(r *http.Request) bool { return r.URL.Query().Get("watch") != "" }

// isExempt says that a request is none of the scenario's: leases would make a leader give up, and Events may be lost.
func isExempt(path string) bool {
	resource := resourceOf(path).resource
	return resource == "leases" || resource == "events"
}

// target is what the path of a request leads to.
type target struct {
	group, version, namespace, resource, name, subresource string
}

// resourceOf takes the path of a request apart; the resource is empty where it leads to none.
func resourceOf(path string) target {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	var t target
	switch {
	case len(parts) > 2 && parts[0] == "api":
		t.version, parts = parts[1], parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		t.group, t.version, parts = parts[1], parts[2], parts[3:]
	default:
		return t
	}
	// A namespace is a resource itself, unless something in it follows.
	if parts[0] == "namespaces" && len(parts) > 2 && parts[2] != "status" && parts[2] != "finalize" {
		t.namespace, parts = parts[1], parts[2:]
	}
	fields := []*string{&t.resource, &t.name, &t.subresource}
	for i, part := range parts[:min(len(parts), len(fields))] {
		*fields[i] = part
	}
	return t
}

func isObject(path string) bool {
	t := resourceOf(path)
	return t.name != "" && t.subresource == ""
}
