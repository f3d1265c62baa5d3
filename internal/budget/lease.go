package budget

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/types"
)

// Lease is the memory of a piece of work for a component. A nil Lease is unlimited.
type Lease struct {
	account *account
	// sum is the memory that the lease has reserved. waits is set when memory was not available. entire is set if a
	// request that is too large gets the whole budget. The lock of the budget protects the fields.
	sum                  int64
	waits, entire, ended bool
}

// leaseKey is the key of the lease in a context.
type leaseKey struct{}

// Begin begins work for a component. Reserve gets the returned context. wake starts the next pass of the component when
// memory that it waits for is available; it must not block. The caller must call End.
//
// If memory was kept for the component, the lease contains this memory.
func (b *Budget) Begin(
	ctx context.Context, name types.NamespacedName, wake func(),
) (context.Context, *Lease) {
	if b == nil {
		return ctx, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	a, ok := b.accounts[name]
	if !ok {
		a = &account{budget: b, name: name}
		b.accounts[name] = a
	}
	if a.leases == 0 {
		a.need = 0
	}
	a.wake, a.kept = wake, false
	a.leases++
	l := &Lease{account: a}
	return context.WithValue(ctx, leaseKey{}, l), l
}

// Entire lets requests that are larger than the budget wait for the whole budget, instead of an error. Work that must
// always be possible, such as a deletion, is done alone then.
func Entire(ctx context.Context) {
	l, _ := ctx.Value(leaseKey{}).(*Lease)
	if l == nil {
		return
	}
	l.account.budget.mu.Lock()
	defer l.account.budget.mu.Unlock()
	l.entire = true
}

// Waits reports whether a request for memory was refused. The component waits after the end of its leases, and is woken
// then.
func (l *Lease) Waits() bool {
	if l == nil {
		return false
	}
	l.account.budget.mu.Lock()
	defer l.account.budget.mu.Unlock()
	return l.waits
}

// Needs returns the memory that the component waits for.
func (l *Lease) Needs() int64 {
	if l == nil {
		return 0
	}
	l.account.budget.mu.Lock()
	defer l.account.budget.mu.Unlock()
	return l.account.need
}

// Succeed tells that the work is done. It needs no more memory, also if memory was refused.
func (l *Lease) Succeed() {
	if l == nil {
		return
	}
	b := l.account.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	l.waits, l.account.need = false, 0
	delete(b.previous, l.account.name)
}

// End releases the memory of the lease.
func (l *Lease) End() {
	if l == nil {
		return
	}
	b := l.account.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if l.ended {
		return
	}
	l.ended = true
	l.account.used -= l.sum
	l.account.leases--
	if l.account.leases > 0 {
		return
	}
	b.close(l.account)
}

// Hand moves the memory of the lease to the lease of a context, if both belong to the same component, and ends it.
func (l *Lease) Hand(ctx context.Context) {
	if l == nil {
		return
	}
	if to, ok := ctx.Value(leaseKey{}).(*Lease); ok && to != nil && to.account == l.account {
		b := l.account.budget
		b.mu.Lock()
		to.sum += l.sum
		l.sum = 0
		b.mu.Unlock()
	}
	l.End()
}

// Working reports whether a context belongs to work with a lease that has not ended.
func Working(ctx context.Context) bool {
	l, _ := ctx.Value(leaseKey{}).(*Lease)
	if l == nil {
		return false
	}
	l.account.budget.mu.Lock()
	defer l.account.budget.mu.Unlock()
	return !l.ended
}

// Reserve reserves memory for the work of a context, until its lease or its Scope ends. The error is ErrWait if the
// memory is not available now, and a TooLargeError if it never is. Without a lease, Reserve returns nil.
func Reserve(ctx context.Context, bytes int64) error {
	l, _ := ctx.Value(leaseKey{}).(*Lease)
	if l == nil || bytes <= 0 {
		return nil
	}
	b := l.account.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if l.ended {
		return ErrWait
	}
	if err := b.reserve(l.account, bytes, l.entire); err != nil {
		l.waits = l.waits || errors.Is(err, ErrWait)
		return err
	}
	l.sum += bytes
	l.account.used += bytes
	return nil
}

// reserve checks that an account may use more memory. The caller holds the lock.
func (b *Budget) reserve(a *account, bytes int64, entire bool) error {
	want := a.used + bytes - b.allowance
	if want <= a.granted || entire && a.granted == b.capacity {
		return nil
	}
	if want > b.capacity && !entire {
		return &TooLargeError{Needed: want + b.allowance, Budget: b.capacity + b.allowance}
	}
	want = min(want, b.capacity)
	if missing := want - a.granted; len(b.turns) == 0 && missing <= b.free {
		b.free -= missing
		a.granted = want
		return nil
	}
	// More than now is needed in most cases, so that the component does not wait again soon.
	a.need = min(b.capacity, max(a.need, want+want/2, b.previous[a.name]))
	return ErrWait
}

// Scope returns a context whose reservations end with the returned function. The component has the memory until the end
// of its lease, or until Trim, so that its work can reserve it again.
func Scope(ctx context.Context) (scoped context.Context, end func()) {
	outer, _ := ctx.Value(leaseKey{}).(*Lease)
	if outer == nil {
		return ctx, func() {}
	}
	b := outer.account.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	inner := &Lease{account: outer.account, entire: outer.entire}
	return context.WithValue(ctx, leaseKey{}, inner), func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		inner.ended = true
		outer.waits = outer.waits || inner.waits
		inner.account.used -= inner.sum
	}
}

// Trim releases memory that the component has, and that its work has not reserved.
func Trim(ctx context.Context) {
	l, _ := ctx.Value(leaseKey{}).(*Lease)
	if l == nil {
		return
	}
	b, a := l.account.budget, l.account
	b.mu.Lock()
	defer b.mu.Unlock()
	if l.ended || a.kept || a.leases > 1 {
		return
	}
	b.release(a, max(0, a.used-b.allowance))
	b.admit()
}
