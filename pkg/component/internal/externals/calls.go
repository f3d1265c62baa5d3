package externals

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/fairlead-io/fairlead/internal/authorcode"
	"github.com/fairlead-io/fairlead/pkg/component/external"
)

// monitored calls a method of a handler, and tells the Monitor.
func monitored[R any](ctx context.Context, m Monitor, c Call, f func(context.Context) (R, error)) (R, error) {
	ended := func(error) {}
	if m != nil {
		ctx, ended = m.StartCall(ctx, c)
	}
	answer, err := authorcode.Call("the handler", func() (R, error) { return f(ctx) })
	ended(err)
	return answer, err
}

// invoke calls the method of a call. The answer of Find has no id if nothing was found.
func (c *call) invoke(ctx context.Context) (answer external.Answer, err error) {
	switch c.method {
	case MethodCreate:
		return c.driver.Create(ctx, c.request)
	case MethodUpdate:
		return c.driver.Update(ctx, c.request)
	case MethodDelete:
		return answer, c.driver.Delete(ctx, c.request)
	case MethodFind:
		id, found, err := c.driver.Find(ctx, c.request)
		if found {
			answer.ID = id
		}
		return answer, err
	case MethodObserve, MethodList:
	}
	return c.driver.Observe(ctx, c.request)
}

// run makes a call for an external, and enters its result.
func (c *call) run(ctx context.Context, it *item) {
	key, of := c.request.Key, it.component
	described := Call{Component: of.name, Kind: key.Kind, Name: key.Name, Method: c.method}
	answer, err := monitored(ctx, of.manager.options.Monitor, described, c.invoke)
	of.change(it, func(t *step) {
		if c.method == MethodObserve || c.method == MethodFind {
			c.answered(t, answer, err)
		} else {
			c.ended(t, answer, err)
		}
	})
}

// list observes the externals of an account that wait for a list, or whose observation is due soon, with one call.
// Those that are missing in the list are observed one by one.
func (m *Manager) list(ctx context.Context, a *account) {
	var items []*item
	var questions []*call
	var requests []external.Request
	begin := func(next poll, awaited bool) {
		it := next.item
		it.component.change(it, func(t *step) {
			if asked := t.listed(a.key, awaited, next.due); asked != nil {
				items, questions, requests = append(items, it), append(questions, asked), append(requests, asked.request)
			}
		})
	}
	for _, it := range a.takeAwaiting() {
		begin(poll{item: it, due: m.now()}, true)
	}
	for _, next := range m.polls.take(a, m.now().Add(a.info.Poll/2)) {
		begin(next, false)
	}
	if len(items) == 0 {
		return
	}
	described := Call{Component: items[0].component.name, Kind: requests[0].Key.Kind, Method: MethodList}
	shared := external.Account{Name: a.key.name, References: requests[0].References}
	list := func(ctx context.Context) (map[int]external.Answer, error) {
		return a.key.driver.List(ctx, shared, requests)
	}
	answers, err := monitored(ctx, m.options.Monitor, described, list)
	a.listEnded(err)
	for i, it := range items {
		answer, found := answers[i]
		switch asked := questions[i]; {
		case err != nil || found:
			it.component.change(it, func(t *step) { asked.answered(t, answer, err) })
		default:
			a.enqueue(&queued{run: func(ctx context.Context) { asked.run(ctx, it) }})
		}
	}
}

// process is the time of this process, and its calls.
type process struct {
	clock clock.WithTicker
	// lifetime ends when the operator stops. No call begins after that, and the calls under way are completed.
	lifetime context.Context
	calls    sync.WaitGroup
}

func (p *process) now() time.Time { return p.clock.Now() }

// after calls f after a delay, unless the process ends before.
func (p *process) after(delay time.Duration, f func()) {
	timer := p.clock.NewTimer(max(0, delay))
	go func() {
		defer timer.Stop()
		select {
		case <-timer.C():
			f()
		case <-p.lifetime.Done():
		}
	}()
}

// outliving returns a context that ends a grace after the lifetime of the process. The caller calls end.
func (p *process) outliving(grace time.Duration) (ctx context.Context, end func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(p.lifetime))
	stop := context.AfterFunc(p.lifetime, func() {
		timer := p.clock.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-timer.C():
			cancel()
		case <-ctx.Done():
		}
	})
	return ctx, func() {
		stop()
		cancel()
	}
}

// recordingRetry is the maximum time between two attempts to store a result after the operator is told to stop.
const recordingRetry = time.Second

// pause waits for a delay, at most until ctx ends. If the operator is told to stop, it waits no longer than for
// recordingRetry.
func (p *process) pause(ctx context.Context, delay time.Duration) {
	stop := p.lifetime.Done()
	if p.lifetime.Err() != nil {
		stop, delay = nil, min(delay, recordingRetry)
	}
	timer := p.clock.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C():
	case <-stop:
	case <-ctx.Done():
	}
}
