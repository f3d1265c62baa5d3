package dependencies

import (
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// wakeups are the passes that a Graph starts: a channel with room for one pass, for each component. As in a work queue,
// a pass that is started several times is made once.
type wakeups struct {
	mu       sync.Mutex
	channels map[types.NamespacedName]chan struct{}
}

func (w *wakeups) of(name types.NamespacedName) chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.channels[name] == nil {
		w.channels[name] = make(chan struct{}, 1)
	}
	return w.channels[name]
}

func (w *wakeups) wake(name types.NamespacedName) {
	select {
	case w.of(name) <- struct{}{}:
	default:
	}
}

func newConcurrentGraph() (*Graph, *wakeups) {
	w := &wakeups{channels: map[types.NamespacedName]chan struct{}{}}
	g := New(w.wake)
	g.Complete()
	return g, w
}

// A component whose edge is added while its dependency becomes ready begins, without a poll.
func TestFollowMissesNoChange(t *testing.T) {
	const waiters = 50
	rounds := 2000
	if testing.Short() {
		rounds = 100
	}
	g, wakeups := newConcurrentGraph()
	for round := range rounds {
		on := named(fmt.Sprintf("db%d", round))
		unready := Node{UID: "db", Version: "1"}
		g.Put(on, unready)
		var all sync.WaitGroup
		all.Go(func() {
			now := unready
			now.Version, now.Health = "2", ready
			g.Put(on, now)
		})
		for i := range waiters {
			name := named(fmt.Sprintf("web%d-%d", round, i))
			node := Node{UID: "web", Version: "1", Edges: []Edge{{on, DependsOn, true}}}
			all.Go(func() {
				for {
					g.Enter(name, node)
					if (i%2 == 0 || g.Follow(name, node.UID).Permits()) && g.Begin(name, node.UID).Permits() {
						return
					}
					select {
					case <-wakeups.of(name):
					case <-time.After(30 * time.Second):
						t.Errorf("%s was not started", name)
						return
					}
				}
			})
		}
		all.Wait()
		if t.Failed() {
			return
		}
	}
}

// A component that is deleted while its holders are deleted, lose their edge or lose their dependents goes, without a
// poll.
func TestHoldersMissNoChange(t *testing.T) {
	const holders = 30
	rounds := 1000
	if testing.Short() {
		rounds = 50
	}
	g, wakeups := newConcurrentGraph()
	for round := range rounds {
		on := named(fmt.Sprintf("db%d", round))
		db := Node{UID: "db", Version: "1", Deleting: true, Holds: true}
		g.Put(on, db)
		var all sync.WaitGroup
		for i := range holders {
			name := named(fmt.Sprintf("web%d-%d", round, i))
			node := Node{UID: "web", Version: "1", Edges: []Edge{{on, DependsOn, true}}, Holds: true}
			g.Put(name, node)
			all.Go(func() {
				now := node
				now.Version = "2"
				switch i % 3 {
				case 0:
					g.Remove(name, node.UID)
					return
				case 1:
					now.Edges = nil
				case 2:
					now.Holds = false
				}
				g.Put(name, now)
			})
		}
		all.Go(func() {
			for {
				g.Enter(on, db)
				if left, isKnown := g.Holders(on, db.UID, false); isKnown && len(left) == 0 {
					return
				}
				select {
				case <-wakeups.of(on):
				case <-time.After(30 * time.Second):
					t.Errorf("%s was not started", on)
					return
				}
			}
		})
		all.Wait()
		if t.Failed() {
			return
		}
	}
}

// Of a component that begins and its dependency that is deleted, one sees the other.
func TestBeginAndHoldersExcludeEachOther(t *testing.T) {
	rounds := 20_000
	if testing.Short() {
		rounds = 1000
	}
	g, _ := newConcurrentGraph()
	began, went := 0, 0
	for round := range rounds {
		on, name := named("db"+strconv.Itoa(round)), named("web"+strconv.Itoa(round))
		db := Node{UID: "db", Version: "1", Holds: true, Health: ready}
		web := Node{UID: "web", Version: "1", Edges: []Edge{{on, DependsOn, true}}}
		g.Put(on, db)
		var all sync.WaitGroup
		var begins, goes bool
		passes := []func(){func() {
			g.Enter(name, web)
			begins = g.Begin(name, web.UID).Permits()
		}, func() {
			deleted := db
			deleted.Version, deleted.Deleting = "2", true
			g.Enter(on, deleted)
			holders, _ := g.Holders(on, db.UID, false)
			goes = len(holders) == 0
		}}
		all.Go(passes[round%2])
		all.Go(passes[1-round%2])
		all.Wait()
		if begins && goes || !begins && !goes {
			t.Fatalf("in round %d, the component begins: %t, and its dependency goes: %t", round, begins, goes)
		}
		if begins {
			began++
		} else {
			went++
		}
	}
	t.Logf("%d components began, %d dependencies went", began, went)
}
