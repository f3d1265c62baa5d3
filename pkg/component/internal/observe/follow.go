package observe

import (
	"hash/fnv"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Version is what a look-up read: the resource version of an object, or a Sum of several; empty where there is none.
type Version string

// VersionOwn is that of an object which is a dependent of the component that looks it up. Its changes don't matter to that component.
const VersionOwn Version = "own"

// Sum identifies objects in their versions, whatever their order.
type Sum uint64

// Version returns the sum as a version.
func (s Sum) Version() Version { return Version(strconv.FormatUint(uint64(s), 16)) }

// Plus adds an object.
func (s Sum) Plus(m metav1.Object) Sum { return s + hashOf(nameOf(m), m.GetResourceVersion()) }

func (s Sum) with(name objectName, seen sighting) Sum    { return s + hashOf(name, seen.version) }
func (s Sum) without(name objectName, seen sighting) Sum { return s - hashOf(name, seen.version) }

func hashOf(name objectName, version string) Sum {
	hash := fnv.New64a()
	for _, part := range []string{name.namespace, name.name, version} {
		_, _ = io.WriteString(hash, part)
		_, _ = hash.Write([]byte{0})
	}
	return Sum(hash.Sum64())
}

// Reading is what a component has read.
type Reading struct {
	// Self is the component's owner id: its own dependents don't count.
	Self string
	// Viewer is as whom it is watched.
	Viewer Viewer
	// Versions are those that were read.
	Versions map[Reference]Version
}

// Follow says which objects a component has read, and how to wake it where the API server has other versions. It replaces what the owner
// retained or followed before.
func (r *References) Follow(owner string, reading Reading, wake func()) {
	read := reading.Versions
	if len(read) == 0 {
		r.Release(owner)
		return
	}
	refs := slices.SortedFunc(maps.Keys(read), func(a, b Reference) int {
		return strings.Compare(a.Resource.String()+"/"+a.Namespace+"/"+a.Name, b.Resource.String()+"/"+b.Namespace+"/"+b.Name)
	})
	r.enter(owner, &referrer{viewer: reading.Viewer, refs: refs, self: reading.Self, read: maps.Clone(read), wake: wake})
}

// Changed returns the followed references of which the API server has another version than the one read, and those of which no watch can
// tell, with the reason. What was not listed yet is neither.
func (r *References) Changed(owner string) (changed []Reference, unwatched map[Reference]string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	own := r.owners[owner]
	if own == nil {
		return nil, nil
	}
	unwatched = map[Reference]string{}
	for _, ref := range own.refs {
		w := r.scopes[ref.scope(own.viewer)]
		switch {
		case w == nil:
		case w.failure != (Failure{}):
			unwatched[ref] = w.failure.Message
		case w.synced && w.differs(own, ref):
			changed = append(changed, ref)
		}
	}
	return changed, unwatched
}

// differs says that there is another version of a followed reference than the one read. Nothing is known of what was not listed yet. The caller
// holds the lock.
func (w *referenced) differs(user *referrer, ref Reference) bool {
	if !w.synced {
		return false
	}
	if ref.Name == "" {
		return (w.sum - w.sums[user.self]).Version() != user.read[ref]
	}
	seen := w.objects[objectName{ref.Namespace, ref.Name}]
	gone := seen.version == "" && user.read[ref] == VersionOwn
	if gone || seen.version != "" && seen.owner == user.self {
		return false
	}
	return Version(seen.version) != user.read[ref]
}
