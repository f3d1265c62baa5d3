package externals

import (
	"context"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/fairlead-io/fairlead/pkg/component/internal/externalstate"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// stateStore reads and writes the stored states of the externals of a component, and holds their credentials. Its lock
// serialises the requests, and protects the fields below it. All methods but current need it.
type stateStore struct {
	owner       manifests.Owner
	states      States
	credentials Credentials
	// adopt is called with the states that were read or written.
	adopt func(*externalstate.Record)

	sync.Mutex
	// last are the stored states as they were read or written last. known is the same, or nil if they must be read
	// again.
	last  *externalstate.Record
	known atomic.Pointer[externalstate.Record]
	// held are the names of the Secrets that have our finalizer, and released those that lost it.
	held, released sets.Set[string]
}

// current returns the stored states. It returns nil if they must be read.
func (r *stateStore) current() *externalstate.Record { return r.known.Load() }

// load reads the stored states, if they are not known.
func (r *stateStore) load(ctx context.Context) error {
	if r.current() != nil {
		return nil
	}
	record, err := r.states.Load(ctx, r.owner, r.last)
	if err != nil {
		return err
	}
	r.enter(record)
	return nil
}

// reload reads the stored states again, because another process may have written them since they were read.
func (r *stateStore) reload(ctx context.Context) error {
	r.known.Store(nil)
	return r.load(ctx)
}

func (r *stateStore) enter(record *externalstate.Record) {
	r.last = record
	r.known.Store(record)
	r.adopt(record)
}

// write stores changes of states. After an error the states are loaded again by the next pass.
func (r *stateStore) write(ctx context.Context, changes map[manifests.Key]*externalstate.State) error {
	if len(changes) == 0 {
		return nil
	}
	written, err := r.states.Write(ctx, r.owner, r.last, changes)
	if err != nil {
		r.known.Store(nil)
		return err
	}
	r.enter(written)
	return nil
}

// hold adds our finalizer to the Secrets that do not have it.
func (r *stateStore) hold(ctx context.Context, secrets []string) error {
	missing := sets.New(secrets...).Difference(r.held)
	if missing.Len() == 0 {
		return nil
	}
	if err := r.credentials.Hold(ctx, r.owner, sets.List(missing)); err != nil {
		return err
	}
	r.held, r.released = r.held.Union(missing), r.released.Difference(missing)
	return nil
}

// release removes our finalizer from the Secrets that had it or that states name, except from those that are needed, by
// externals or, in kept, for another reason.
func (r *stateStore) release(ctx context.Context, u *upkeep, kept []string) error {
	free := u.named.Union(r.held).Difference(u.needed).Difference(r.released)
	if free.Len() == 0 {
		return nil
	}
	if err := r.credentials.Release(ctx, r.owner, sets.List(free), kept); err != nil {
		return err
	}
	r.held, r.released = r.held.Difference(free), r.released.Union(free)
	return nil
}

// end removes our finalizer from the Secrets that have it, and from others that states name.
func (r *stateStore) end(ctx context.Context, named []string) error {
	all := r.held.Union(sets.New(named...))
	if all.Len() == 0 {
		return nil
	}
	return r.credentials.Release(ctx, r.owner, sets.List(all), nil)
}

// mayFree notes Secrets that the externals may need no more. The next pass releases those that none needs.
func (r *stateStore) mayFree(secrets []string) { r.held = r.held.Union(sets.New(secrets...)) }
