package inspect

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// The time that the conditions of one namespace may take in a watch: allowanceBurst at once, and allowanceShare of the
// time that passes. A usual condition takes less than 100 microseconds.
const (
	allowanceBurst = time.Second
	allowanceShare = 20
	// maxAllowances is the number of namespaces after which those are dropped that have their whole allowance.
	maxAllowances = 1024
)

// Allowance bounds the time that a watch spends with the conditions of each namespace, because tenants write conditions
// and share the watches. The nil Allowance sets no bound. An Allowance is safe for concurrent use.
type Allowance struct {
	now func() time.Time

	mu    sync.Mutex
	spent map[string]spending
}

// spending is the time that was spent, as of the time at.
type spending struct {
	time time.Duration
	at   time.Time
}

// NewAllowance returns an Allowance.
func NewAllowance(now func() time.Time) *Allowance {
	return &Allowance{now: now, spent: map[string]spending{}}
}

// take begins an evaluation for an object. It returns false if the namespace has no time left, and otherwise a function
// that must be called at the end of the evaluation.
func (a *Allowance) take(obj *unstructured.Unstructured, reconciler string) (end func(), ok bool) {
	if a == nil {
		return func() {}, true
	}
	name := "namespace " + obj.GetNamespace()
	if obj.GetNamespace() == "" {
		name = "owner " + obj.GetLabels()[reconciler+"/"+manifests.LabelOwnerID]
	}
	started := a.now()
	if a.add(name, 0, started) >= allowanceBurst {
		return nil, false
	}
	return func() {
		now := a.now()
		a.add(name, now.Sub(started), now)
	}, true
}

// add adds time to what was spent, and returns the sum without the share of the time that has passed.
func (a *Allowance) add(name string, d time.Duration, now time.Time) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.spent[name].left(now) + d
	if s > 0 {
		a.spent[name] = spending{s, now}
	} else {
		delete(a.spent, name)
	}
	if len(a.spent) > maxAllowances {
		for other, s := range a.spent {
			if s.left(now) == 0 {
				delete(a.spent, other)
			}
		}
	}
	return s
}

func (s spending) left(now time.Time) time.Duration {
	return max(0, s.time-now.Sub(s.at)/allowanceShare)
}
