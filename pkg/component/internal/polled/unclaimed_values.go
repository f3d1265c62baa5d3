package polled

import (
	"container/list"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// A value may arrive before its component. At most maxEarly values whose component had no pass yet are kept, with at
// most maxEarlyBytes of JSON together, for at most earlyLifetime.
const (
	maxEarly      = 10_000
	maxEarlyBytes = 64 << 20
	earlyLifetime = 10 * time.Minute
)

// early contains the names and sizes of the values in a Mailbox whose component had no pass yet.
type early struct {
	at         map[types.NamespacedName]*list.Element
	namespaces map[string]*earlyNamespace
	bytes      int
}

// earlyNamespace contains the values for one namespace, the oldest first.
type earlyNamespace struct {
	values list.List
	bytes  int
}

type earlyValue struct {
	name  types.NamespacedName
	bytes int
}

func newEarly() *early {
	return &early{at: map[types.NamespacedName]*list.Element{}, namespaces: map[string]*earlyNamespace{}}
}

// add adds a value, and returns the values that must be dropped to keep the limits. These are the oldest values of the
// namespace with the most values, or with the most bytes, so that a sender for one namespace does not push out the
// values of others.
func (e *early) add(name types.NamespacedName, bytes int) (dropped []types.NamespacedName) {
	e.remove(name)
	n := e.namespaces[name.Namespace]
	if n == nil {
		n = &earlyNamespace{}
		e.namespaces[name.Namespace] = n
	}
	e.at[name] = n.values.PushBack(earlyValue{name, bytes})
	n.bytes += bytes
	e.bytes += bytes
	for len(e.at) > maxEarly {
		dropped = append(dropped, e.removeOldest(func(n *earlyNamespace) int { return n.values.Len() }))
	}
	for e.bytes > maxEarlyBytes {
		dropped = append(dropped, e.removeOldest(func(n *earlyNamespace) int { return n.bytes }))
	}
	return dropped
}

// removeOldest removes the oldest value of the namespace with the largest size.
func (e *early) removeOldest(size func(*earlyNamespace) int) types.NamespacedName {
	var largest *earlyNamespace
	for _, n := range e.namespaces {
		if largest == nil || size(n) > size(largest) {
			largest = n
		}
	}
	oldest, _ := largest.values.Front().Value.(earlyValue)
	e.remove(oldest.name)
	return oldest.name
}

// remove removes a value, if there is one.
func (e *early) remove(name types.NamespacedName) {
	element := e.at[name]
	if element == nil {
		return
	}
	n := e.namespaces[name.Namespace]
	value, _ := n.values.Remove(element).(earlyValue)
	delete(e.at, name)
	n.bytes -= value.bytes
	e.bytes -= value.bytes
	if n.values.Len() == 0 {
		delete(e.namespaces, name.Namespace)
	}
}
