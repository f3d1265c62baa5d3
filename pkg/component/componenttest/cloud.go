package componenttest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/fairlead-io/fairlead/pkg/component/external"
)

// Cloud is an external system in memory for tests of externals: it stores things by an id that it allocates, or that
// the client chooses. It is safe for concurrent use. The kinds of package external in this package handle its things.
type Cloud struct {
	mu     sync.Mutex
	next   int
	things map[string]Thing
	calls  map[string]int
	// effects counts the creates, updates and deletes that took effect.
	effects map[string]int
	// doubled counts the creates with the token of a thing that existed.
	doubled int
	// listed is the last true answer of List.
	listed map[string]Thing
	// fault, if set, is called before each call takes effect.
	fault func(CloudCall) CloudFault
}

// Thing is what a Cloud stores.
type Thing struct {
	ID    string `json:"id"`
	Token string `json:"token,omitempty"`
	Value string `json:"value"`
	// Phase is Ready by default.
	Phase string `json:"phase,omitempty"`
}

// ThingSpec is the spec of the manifest of a thing.
type ThingSpec struct {
	// Name is the id of a thing of a kind that chooses its id.
	Name  string `json:"name,omitempty"`
	Value string `json:"value,omitempty"`
}

// CloudCall is a call to a Cloud.
type CloudCall struct {
	// Method is Observe, Create, Update, Delete, Find or List.
	Method string
	ID     string
	Token  string
	// Repeatable is set for a Create that may be repeated with its token.
	Repeatable bool
}

// CloudFault says what goes wrong in a call. The zero value is no fault.
type CloudFault struct {
	// Before is the error of a call without effect, and After the error of a call that took effect: its answer is lost.
	Before, After error
	// Stale makes a call answer as if nothing existed.
	Stale bool
	// Partial makes List leave out each second thing, and Earlier makes it repeat its last true answer.
	Partial, Earlier bool
	// Twice lets the call take effect twice, as a repeated request does.
	Twice bool
	// Forget removes the thing with the id of the call first.
	Forget bool
	// Wait blocks the call before it takes effect, until the channel is closed or the call ends.
	Wait <-chan struct{}
}

// NewCloud returns an empty Cloud.
func NewCloud() *Cloud {
	return &Cloud{things: map[string]Thing{}, calls: map[string]int{}, effects: map[string]int{}}
}

// SetFault sets the function that decides what goes wrong in a call; nil ends all faults.
func (c *Cloud) SetFault(fault func(CloudCall) CloudFault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fault = fault
}

// Things returns all things, in the order of their ids.
func (c *Cloud) Things() []Thing {
	c.mu.Lock()
	defer c.mu.Unlock()
	var things []Thing
	for _, id := range slices.Sorted(maps.Keys(c.things)) {
		things = append(things, c.things[id])
	}
	return things
}

// Put stores a thing, as another client does.
func (c *Cloud) Put(t Thing) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.things[t.ID] = t
}

// Remove removes a thing, as another client does.
func (c *Cloud) Remove(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.things, id)
}

// Calls returns the number of calls of a method.
func (c *Cloud) Calls(method string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls[method]
}

// doubles returns the number of creates with the token of a thing that existed.
func (c *Cloud) doubles() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.doubled
}

// Effects returns the number of calls of Create, Update or Delete that changed something.
func (c *Cloud) Effects(method string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.effects[method]
}

// call makes a call: it counts it, lets the fault happen, and calls effect with the lock.
func (c *Cloud) call(ctx context.Context, call CloudCall, effect func() error) error {
	return c.callWith(ctx, call, func(CloudFault) error { return effect() })
}

// callWith makes a call as call does. The effect depends on what goes wrong in the call.
func (c *Cloud) callWith(ctx context.Context, call CloudCall, effect func(CloudFault) error) error {
	c.mu.Lock()
	c.calls[call.Method]++
	decide := c.fault
	c.mu.Unlock()
	var fault CloudFault
	if decide != nil {
		fault = decide(call)
	}
	if fault.Wait != nil {
		select {
		case <-fault.Wait:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if fault.Before != nil {
		return fault.Before
	}
	if fault.Stale {
		return external.ErrNotFound
	}
	c.mu.Lock()
	if fault.Forget {
		delete(c.things, call.ID)
	}
	err := effect(fault)
	if fault.Twice {
		_ = effect(fault) // The client sees the first answer.
	}
	c.mu.Unlock()
	if fault.After != nil {
		return fault.After
	}
	return err
}

func (c *Cloud) observe(ctx context.Context, id string) (t Thing, err error) {
	err = c.call(ctx, CloudCall{Method: "Observe", ID: id}, func() error {
		found, ok := c.things[id]
		if !ok {
			return external.ErrNotFound
		}
		t = found
		return nil
	})
	return t, err
}

func (c *Cloud) create(ctx context.Context, id, token, value string) (t Thing, err error) {
	err = c.call(ctx, CloudCall{Method: "Create", ID: id, Token: token}, func() error {
		if _, exists := c.things[id]; exists {
			return external.ErrExists
		}
		t = c.add(id, token, value)
		return nil
	})
	return t, err
}

// add stores a new thing. An empty id is replaced by a new one. The caller holds the lock.
func (c *Cloud) add(id, token, value string) Thing {
	if id == "" {
		c.next++
		id = fmt.Sprintf("thing-%d", c.next)
	}
	for _, existing := range c.things {
		if token != "" && existing.Token == token {
			c.doubled++
		}
	}
	c.things[id] = Thing{ID: id, Token: token, Value: value}
	c.effects["Create"]++
	return c.things[id]
}

func (c *Cloud) update(ctx context.Context, id, value string) (t Thing, err error) {
	err = c.call(ctx, CloudCall{Method: "Update", ID: id}, func() error {
		found, ok := c.things[id]
		if !ok {
			return external.ErrNotFound
		}
		if found.Value != value {
			c.effects["Update"]++
		}
		found.Value = value
		t, c.things[id] = found, found
		return nil
	})
	return t, err
}

func (c *Cloud) remove(ctx context.Context, id string) error {
	return c.call(ctx, CloudCall{Method: "Delete", ID: id}, func() error {
		if _, exists := c.things[id]; exists {
			c.effects["Delete"]++
		}
		delete(c.things, id)
		return nil
	})
}

func (c *Cloud) find(ctx context.Context, token string) (id string, found bool, err error) {
	err = c.call(ctx, CloudCall{Method: "Find", Token: token}, func() error {
		for _, t := range c.things {
			if t.Token == token {
				id, found = t.ID, true
			}
		}
		return nil
	})
	if errors.Is(err, external.ErrNotFound) {
		return "", false, nil
	}
	return id, found, err
}

// Things is a Kind of things with ids that the Cloud allocates. It cannot find out whether an uncertain create had an
// effect.
type Things struct{ *Cloud }

// Observe implements external.Kind.
func (k Things) Observe(ctx context.Context, r external.Ref[ThingSpec]) (Thing, error) {
	return k.observe(ctx, r.ID)
}

// Create implements external.Creator.
func (k Things) Create(ctx context.Context, r external.Ref[ThingSpec]) (external.Created[Thing], error) {
	t, err := k.create(ctx, "", r.Token, r.Spec.Value)
	return external.Created[Thing]{ID: t.ID, Observed: t}, err
}

// Update implements external.Updater.
func (k Things) Update(ctx context.Context, r external.Ref[ThingSpec], _ Thing) (Thing, error) {
	return k.update(ctx, r.ID, r.Spec.Value)
}

// Delete implements external.Deleter.
func (k Things) Delete(ctx context.Context, r external.Ref[ThingSpec]) error {
	return k.remove(ctx, r.ID)
}

// Match implements external.Matcher.
func (k Things) Match(spec ThingSpec, observed Thing) string {
	if spec.Value != observed.Value {
		return fmt.Sprintf("value is %q, not %q", observed.Value, spec.Value)
	}
	return ""
}

// Ready implements external.Readier.
func (k Things) Ready(observed Thing) (bool, string) {
	if observed.Phase != "" && observed.Phase != "Ready" {
		return false, "its phase is " + observed.Phase
	}
	return true, ""
}

// FindableThings is a Kind of things that are found by their token.
type FindableThings struct{ Things }

// Find implements external.Finder.
func (k FindableThings) Find(ctx context.Context, r external.Ref[ThingSpec]) (id string, found bool, err error) {
	return k.find(ctx, r.Token)
}

// Token implements external.Tagged.
func (k FindableThings) Token(observed Thing) string { return observed.Token }

// NamedThings is a Kind of things whose ids are in their specs.
type NamedThings struct{ Things }

// Identify implements external.Identifier.
func (k NamedThings) Identify(spec ThingSpec) string { return spec.Name }

// Create implements external.Creator.
func (k NamedThings) Create(ctx context.Context, r external.Ref[ThingSpec]) (external.Created[Thing], error) {
	t, err := k.create(ctx, r.Spec.Name, r.Token, r.Spec.Value)
	return external.Created[Thing]{ID: r.Spec.Name, Observed: t}, err
}

// RepeatableThings is a Kind of things whose creation may be repeated with the same token. Set
// external.Options.IdempotentFor for it.
type RepeatableThings struct{ Things }

// Create implements external.Creator. It returns the thing that was created with the token before, if there is one.
func (k RepeatableThings) Create(ctx context.Context, r external.Ref[ThingSpec]) (external.Created[Thing], error) {
	t, err := k.createOnce(ctx, r.Token, r.Spec.Value)
	return external.Created[Thing]{ID: t.ID, Observed: t}, err
}

func (c *Cloud) createOnce(ctx context.Context, token, value string) (t Thing, err error) {
	err = c.call(ctx, CloudCall{Method: "Create", Token: token, Repeatable: true}, func() error {
		for _, found := range c.things {
			if found.Token == token {
				t = found
				return nil
			}
		}
		t = c.add("", token, value)
		return nil
	})
	return t, err
}

// ListedThings is a Kind of things that one call lists.
type ListedThings struct{ Things }

// List implements external.Lister.
func (k ListedThings) List(ctx context.Context, _ external.Account) (map[string]Thing, error) {
	return k.list(ctx)
}

// list returns all things by id. Its faults differ from those of calls for a single thing.
func (c *Cloud) list(ctx context.Context) (found map[string]Thing, err error) {
	err = c.callWith(ctx, CloudCall{Method: "List"}, func(fault CloudFault) error {
		found = maps.Clone(c.things)
		switch {
		case fault.Earlier:
			found = maps.Clone(c.listed)
		case fault.Partial:
			for i, id := range slices.Sorted(maps.Keys(found)) {
				if i%2 == 0 {
					delete(found, id)
				}
			}
		default:
			c.listed = maps.Clone(found)
		}
		return nil
	})
	if errors.Is(err, external.ErrNotFound) {
		return nil, nil // The list is stale.
	}
	return found, err
}
