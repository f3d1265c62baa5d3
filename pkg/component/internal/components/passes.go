package components

import (
	"cmp"
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
)

// maxInterruptions is the maximum number of consecutive passes that may be interrupted. The next pass runs to
// completion even if the spec changes. Without this bound a component whose spec changes faster than it can be applied
// makes no progress.
const maxInterruptions = 10

// watchRetry is the pause before Watch tries again.
const watchRetry = time.Second

// Passes are the in-flight passes of a process, at most one per component. A watch on the components interrupts a pass
// whose component was changed, deleted or recreated.
type Passes struct{ states States }

// NewPasses returns the in-flight passes of a process.
func NewPasses(states States) *Passes { return &Passes{states} }

// InFlight is an in-flight pass over one component. The lock of the component's State protects the fields of the pass.
type InFlight struct {
	state *State
	// loaded describes the version of the component that the pass works with, nil until the component is loaded. newest
	// describes the latest version that the watch has delivered since the pass began.
	loaded, newest *request
	// named are the records that the status named when the pass loaded or wrote it last. The status in memory may already
	// name others.
	named        named
	superseded   chan struct{}
	isSuperseded bool
	// runsToCompletion is set if a new spec must not end the pass; see request.supersedes.
	runsToCompletion bool
}

// named are the values of a status that name records of the component: its rendering, and its deletion phases.
type named struct{ rendering, phases string }

func namedBy(status *metav1alpha1.Status) named { return named{status.RenderedSet, status.PhaseRecord} }

// Begin starts a pass. The caller must call it before it loads the component, so that no change is missed, and must
// call End when the pass is over.
func (p *Passes) Begin(name types.NamespacedName) *InFlight {
	state := p.states.Of(name)
	state.mu.Lock()
	defer state.mu.Unlock()
	state.pass = &InFlight{
		state: state, superseded: make(chan struct{}),
		runsToCompletion: state.interruptions >= maxInterruptions,
	}
	return state.pass
}

// Superseded returns a channel that is closed when the in-flight pass over a component must end. It is nil if there is
// no such pass.
func (p *Passes) Superseded(name types.NamespacedName) <-chan struct{} {
	if pass := p.inFlight(name); pass != nil {
		return pass.superseded
	}
	return nil
}

// RunsToCompletion reports whether there is an in-flight pass over a component that continues even if the spec changes.
func (p *Passes) RunsToCompletion(name types.NamespacedName) bool {
	pass := p.inFlight(name)
	return pass != nil && pass.runsToCompletion
}

func (p *Passes) inFlight(name types.NamespacedName) *InFlight {
	state := p.states.Known(name)
	if state == nil {
		return nil
	}
	state.mu.Lock()
	defer state.mu.Unlock()
	return state.pass
}

// Follower gets the versions of all components that a watch delivers. Its methods are called one after the other,
// except Complete. They must not change the component, and must not wait.
type Follower interface {
	// Put is called for each version of a component, and Remove for the last known version of a deleted one.
	Put(component Object)
	Remove(component Object)
	// Complete is called once, after Put was called for all components that existed when the watch began.
	Complete()
}

// Watch subscribes to the changes of all components of the prototype's type, and tells them to the follower. It does
// not wait for the cache. It returns an error at once if the type is not served. After other errors, such as connection
// errors, it tries again until ctx ends.
func (p *Passes) Watch(
	ctx context.Context, informers ctrlcache.Cache, prototype client.Object, follower Follower,
) error {
	var informer ctrlcache.Informer
	var failure error
	err := wait.PollUntilContextCancel(ctx, watchRetry, true, func(ctx context.Context) (bool, error) {
		informer, failure = informers.GetInformer(ctx, prototype, ctrlcache.BlockUntilSynced(false))
		if meta.IsNoMatchError(failure) || runtime.IsNotRegisteredError(failure) {
			return false, failure
		}
		if failure != nil {
			log.FromContext(ctx).Info("components cannot be watched yet", "cause", failure.Error())
		}
		return failure == nil, nil
	})
	if err != nil {
		return cmp.Or(failure, err)
	}
	deliver := func(obj any, removed bool) {
		if lost, ok := obj.(cache.DeletedFinalStateUnknown); ok {
			obj = lost.Obj
		}
		if component, ok := obj.(Object); ok {
			p.observe(component, removed)
			tell(follower, component, removed)
		}
	}
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { deliver(obj, false) },
		UpdateFunc: func(_, obj any) { deliver(obj, false) },
		DeleteFunc: func(obj any) { deliver(obj, true) },
	})
	if err != nil {
		return err
	}
	go func() {
		select {
		case <-ctx.Done():
		case <-registration.HasSyncedChecker().Done():
			follower.Complete()
		}
	}()
	return nil
}

// tell tells a version of a component to a follower.
func tell(follower Follower, component Object, removed bool) {
	if removed {
		follower.Remove(component)
		return
	}
	follower.Put(component)
}

// observe checks whether a version of a component that the watch delivered supersedes the in-flight pass over the
// component.
func (p *Passes) observe(component Object, removed bool) {
	state := p.states.Known(client.ObjectKeyFromObject(component))
	if state == nil {
		return
	}
	state.mu.Lock()
	defer state.mu.Unlock()
	state.noteOrphaning(component)
	if pass := state.pass; pass != nil {
		pass.newest = requestOf(component)
		pass.newest.removed = removed
		pass.check()
	}
}

// Loaded sets the version of the component that the pass works with.
func (p *InFlight) Loaded(obj Object) {
	p.state.mu.Lock()
	defer p.state.mu.Unlock()
	p.loaded, p.named = requestOf(obj), namedBy(obj.GetStatus())
	p.check()
}

// namesOther reports whether a stored status names another rendering, or another record of deletion phases, than the
// status that the in-flight pass over the component loaded or wrote last. Then another operator process has stored one.
// It returns false if there is no in-flight pass, or if the pass has not loaded the component.
func (p *Passes) namesOther(name types.NamespacedName, stored *metav1alpha1.Status) bool {
	pass := p.inFlight(name)
	if pass == nil {
		return false
	}
	pass.state.mu.Lock()
	defer pass.state.mu.Unlock()
	return pass.loaded != nil && pass.named != namedBy(stored)
}

// written notes a status that the in-flight pass over the component has written.
func (p *Passes) written(name types.NamespacedName, status *metav1alpha1.Status) {
	if pass := p.inFlight(name); pass != nil {
		pass.state.mu.Lock()
		defer pass.state.mu.Unlock()
		pass.named = namedBy(status)
	}
}

// check closes the channel if the newest version supersedes the loaded version. The caller holds the lock.
func (p *InFlight) check() {
	if p.isSuperseded || p.loaded == nil || p.newest == nil || !p.newest.supersedes(p.loaded, p.runsToCompletion) {
		return
	}
	p.isSuperseded = true
	close(p.superseded)
}

// Superseded reports whether the pass must end because of a newer version of the component.
func (p *InFlight) Superseded() bool {
	p.state.mu.Lock()
	defer p.state.mu.Unlock()
	return p.isSuperseded
}

// Interrupted reports whether a pass that ended with err must be repeated without a report in the status: the pass was
// superseded, another client wrote the component, or the operator is stopping.
func (p *InFlight) Interrupted(err error) bool {
	return passerror.Interrupted(err) || err != nil && p.Superseded()
}

// Finish counts consecutive interrupted passes. A pass that was not interrupted resets the count.
func (p *InFlight) Finish(interrupted bool) {
	p.state.mu.Lock()
	defer p.state.mu.Unlock()
	if !interrupted {
		p.state.interruptions = 0
		return
	}
	p.state.interruptions++
}

// End ends the pass. Versions that the watch delivers after the end are ignored.
func (p *InFlight) End() {
	p.state.mu.Lock()
	defer p.state.mu.Unlock()
	if p.state.pass == p {
		p.state.pass = nil
	}
}
