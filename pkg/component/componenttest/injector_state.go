package componenttest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// learn takes from an answer what the scenario wants to know, and leaves its body to be read again.
func (i *Injector) learn(r *http.Request, response *http.Response) error {
	written := r.Method != http.MethodGet && response.StatusCode < http.StatusMultipleChoices
	read := r.Method == http.MethodGet && response.StatusCode == http.StatusOK && isObject(r.URL.Path)
	if !written && !read || !strings.HasPrefix(response.Header.Get("Content-Type"), "application/json") {
		return nil
	}
	body, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return err
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	i.remember(r, response, body)
	return nil
}

func (i *Injector) remember(r *http.Request, response *http.Response, body []byte) {
	var object struct {
		Metadata struct {
			Name, UID string
			Labels    map[string]string
		}
	}
	if json.Unmarshal(body, &object) != nil || object.Metadata.UID == "" {
		return
	}
	t := resourceOf(r.URL.Path)
	if t.name == "" {
		t.name = object.Metadata.Name
	}
	if r.Method != http.MethodGet {
		// What an operator makes for a while, such as a guard, carries no owner label, and may come again after a
		// crash.
		i.tally.write(t, response.StatusCode == http.StatusCreated && isOwned(object.Metadata.Labels))
	}
	if r.Method != http.MethodDelete && t.subresource == "" {
		i.pastResponses.keep(t, r.Header.Get("Accept"), object.Metadata.UID, response, body)
	}
}

func isOwned(labels map[string]string) bool {
	for label := range labels {
		if strings.HasSuffix(label, "/"+manifests.LabelOwnerID) {
			return true
		}
	}
	return false
}

// tally counts what was written, over all processes of a scenario.
type tally struct {
	mu *sync.Mutex
	// created counts the creations of each dependent.
	created map[target]int
	// types are those of which objects were written.
	types map[target]bool
}

func newTally() tally {
	return tally{mu: &sync.Mutex{}, created: map[target]int{}, types: map[target]bool{}}
}

func (t tally) write(to target, created bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if to.subresource != "" {
		return
	}
	t.types[target{group: to.group, version: to.version, resource: to.resource}] = true
	if created {
		to.version = ""
		t.created[to]++
	}
}

// creations says how often each object was created, in words.
func (t tally) creations() map[string]int {
	t.mu.Lock()
	defer t.mu.Unlock()
	found := map[string]int{}
	for to, n := range t.created {
		found[fmt.Sprintf("%s.%s %s/%s", to.resource, to.group, to.namespace, to.name)] = n
	}
	return found
}

func (t tally) written() []target {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Collect(maps.Keys(t.types))
}

// remembered is how many states of an object are kept.
const remembered = 4

// memory holds what objects were, for stale reads.
type pastResponses struct {
	mu     sync.Mutex
	states map[string][]pastResponse
}

// state is an answer that was right once.
type pastResponse struct {
	uid    string
	header http.Header
	body   []byte
}

// keep remembers a state. An object that was created again has none of its predecessor's: no API server mixes them up.
func (m *pastResponses) keep(t target, accept, uid string, response *http.Response, body []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := fmt.Sprint(t, accept)
	states := append(m.states[key], pastResponse{uid: uid, header: response.Header.Clone(), body: body})
	states = slices.DeleteFunc(states, func(s pastResponse) bool { return s.uid != uid })
	if m.states == nil {
		m.states = map[string][]pastResponse{}
	}
	m.states[key] = states[max(0, len(states)-remembered):]
}

// recall returns an older state of what a request reads, or nil.
func (m *pastResponses) recall(r *http.Request, dice *rand.Rand) *http.Response {
	m.mu.Lock()
	defer m.mu.Unlock()
	states := m.states[fmt.Sprint(resourceOf(r.URL.Path), r.Header.Get("Accept"))]
	if len(states) == 0 {
		return nil
	}
	s := states[dice.IntN(len(states))]
	return newResponse(r, http.StatusOK, s.header.Clone(), s.body)
}
