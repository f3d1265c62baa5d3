package budget

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

const (
	mebibyte = 1 << 20
	// maxAllowance is the maximum memory of an account that does not stand in line: several times as much as a usual chart
	// takes.
	maxAllowance = 4 * mebibyte
	// allowanceShare is the largest part of the budget that the allowances of all accounts at the same time may have: a
	// quarter.
	allowanceShare = 4
)

// ErrWait is the error for memory that is not available now. The caller must drop all that it has reserved memory for.
var ErrWait = errors.New("the component waits for memory, because others use it")

// TooLargeError is the error for memory that the budget can never give.
type TooLargeError struct{ Needed, Budget int64 }

// Error implements error.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the component needs about %d MiB of memory at the same time, more than the operator has for all "+
		"components (%d MiB); make it smaller, split it into several components, or give the operator more memory",
		(e.Needed+mebibyte-1)/mebibyte, e.Budget/mebibyte)
}

// Refused reports whether an error says that memory is not available, now or ever.
func Refused(err error) bool {
	_, tooLarge := errors.AsType[*TooLargeError](err)
	return tooLarge || errors.Is(err, ErrWait)
}

// Budget is an amount of memory for which components stand in line. A nil Budget is unlimited. It is safe for
// concurrent use.
type Budget struct {
	// capacity is the memory that all accounts share, and allowance the memory that each account has in addition.
	capacity, allowance int64

	mu       sync.Mutex
	free     int64
	accounts map[types.NamespacedName]*account
	// previous are the claims of components whose work has not succeeded since they waited, so that they claim the same
	// memory again and not less.
	previous map[types.NamespacedName]int64
	// waiting are the accounts in line by namespace, and turns the namespaces with waiting accounts. The first namespace
	// is next.
	waiting map[string][]*account
	turns   []string
}

// account is the memory of a component. It exists while there is a lease, or while the component waits.
type account struct {
	budget *Budget
	name   types.NamespacedName
	wake   func()
	leases int
	// used is the memory that the leases have reserved. granted is the part of the budget that the account has.
	used, granted int64
	// need is the part of the budget that the current work lacked, and claim the part for which the account stands in
	// line.
	need, claim int64
	// kept is set from the end of the wait until the next lease begins.
	kept bool
}

// New returns a budget of a number of bytes for work on a number of components at the same time. It returns nil, which
// is unlimited, if bytes is not positive.
func New(bytes int64, concurrent int) *Budget {
	if bytes <= 0 {
		return nil
	}
	allowance := min(maxAllowance, bytes/allowanceShare/int64(max(1, concurrent)))
	capacity := bytes - allowance*int64(max(1, concurrent))
	return &Budget{
		capacity: capacity, allowance: allowance, free: capacity,
		accounts: map[types.NamespacedName]*account{}, previous: map[types.NamespacedName]int64{},
		waiting: map[string][]*account{},
	}
}

// Usage describes a budget.
type Usage struct {
	// Bytes is the budget without the allowances, and Reserved the part of it that components have.
	Bytes, Reserved int64
	// Waiting is the number of components in line.
	Waiting int
}

// Usage returns the usage of the budget.
func (b *Budget) Usage() Usage {
	if b == nil {
		return Usage{}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	u := Usage{Bytes: b.capacity, Reserved: b.capacity - b.free}
	for _, accounts := range b.waiting {
		u.Waiting += len(accounts)
	}
	return u
}

// close ends an account without leases: it stands in line from now on, keeps the memory for its next lease, or is
// removed. The caller holds the lock.
func (b *Budget) close(a *account) {
	if a.leases > 0 {
		return
	}
	a.used = 0
	if a.kept {
		return
	}
	b.release(a, 0)
	if a.need > 0 {
		b.previous[a.name] = a.need
	}
	switch {
	case a.need == 0:
		b.leave(a)
		delete(b.accounts, a.name)
	case a.claim > 0:
		a.claim = a.need
	default:
		a.claim = a.need
		if len(b.waiting[a.name.Namespace]) == 0 {
			b.turns = append(b.turns, a.name.Namespace)
		}
		b.waiting[a.name.Namespace] = append(b.waiting[a.name.Namespace], a)
	}
	b.admit()
}

// release reduces the part of the budget that an account has. The caller holds the lock.
func (b *Budget) release(a *account, left int64) {
	if a.granted > left {
		b.free += a.granted - left
		a.granted = left
	}
}

// admit gives free memory to the accounts at the head of the line. The caller holds the lock.
func (b *Budget) admit() {
	for len(b.turns) > 0 {
		namespace := b.turns[0]
		a := b.waiting[namespace][0]
		missing := max(0, a.claim-a.granted)
		if missing > b.free {
			return
		}
		b.leave(a)
		if len(b.waiting[namespace]) > 0 {
			b.turns = append(b.turns[1:], namespace)
		}
		b.free -= missing
		a.granted += missing
		a.kept = true
		a.wake()
	}
}

// leave removes an account from the line. The caller holds the lock.
func (b *Budget) leave(a *account) {
	if a.claim == 0 {
		return
	}
	a.claim = 0
	namespace := a.name.Namespace
	b.waiting[namespace] = slices.DeleteFunc(b.waiting[namespace], func(other *account) bool { return other == a })
	if len(b.waiting[namespace]) == 0 {
		delete(b.waiting, namespace)
		b.turns = slices.DeleteFunc(b.turns, func(name string) bool { return name == namespace })
	}
}
