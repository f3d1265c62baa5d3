package observe

import (
	"hash/fnv"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/internal/marks"
	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
)

// Version is the version of a reference: the resource version of an object, the Sum of several objects, or empty if no
// object exists.
type Version string

// VersionOwn is the version of an object that is a dependent of the component itself. Changes of such an object do not
// enqueue the component.
const VersionOwn Version = "own"

// OwnerOf returns the id of the component that has a referenced object as its dependent; empty for other objects. A
// copy that another client made of a dependent is none, although it has the marks of the component.
func OwnerOf(m metav1.Object, reconciler string) string {
	if inspect.IsCopyElsewhere(m, reconciler) {
		return ""
	}
	owner, _ := marks.OwnerOf(m.GetLabels(), m.GetAnnotations(), reconciler, "")
	return owner
}

// Sum is a hash of the names and resource versions of a set of objects. It does not depend on their order.
type Sum uint64

// Version returns the sum as a version.
func (s Sum) Version() Version { return Version(strconv.FormatUint(uint64(s), 16)) }

// Plus returns the sum of the set with one more object.
func (s Sum) Plus(m metav1.Object) Sum { return s + hashOf(nameOf(m), m.GetResourceVersion()) }

func (s Sum) with(name objectName, o referencedObject) Sum    { return s + hashOf(name, o.version) }
func (s Sum) without(name objectName, o referencedObject) Sum { return s - hashOf(name, o.version) }

func hashOf(name objectName, version string) Sum {
	hash := fnv.New64a()
	for _, part := range []string{name.namespace, name.name, version} {
		_, _ = io.WriteString(hash, part)
		_, _ = hash.Write([]byte{0})
	}
	return Sum(hash.Sum64())
}

// ReadVersions contains the versions of the references that a component has read.
type ReadVersions struct {
	// OwnerID is the owner id of the component. Changes of the component's own dependents are ignored.
	OwnerID string
	// Reader is the identity that the watches use.
	Reader Reader
	// Versions are the versions by reference.
	Versions map[Reference]Version
}

// WatchVersions is like Watch, but the function enqueue is called only if a current version differs from the version
// that the component has read. If reading has no versions, the component is released.
func (r *References) WatchVersions(name string, reading ReadVersions, enqueue func()) {
	read := reading.Versions
	if len(read) == 0 {
		r.Release(name)
		return
	}
	refs := slices.SortedFunc(maps.Keys(read), func(a, b Reference) int {
		return strings.Compare(a.sortKey(), b.sortKey())
	})
	r.replace(name, &referrer{
		reader: reading.Reader, refs: refs, ownerID: reading.OwnerID, read: maps.Clone(read), enqueue: enqueue,
	})
}

func (ref Reference) sortKey() string {
	return ref.Resource.String() + "/" + ref.Namespace + "/" + ref.Name
}

// Changed compares the versions that a component has read with the current versions. It returns the references whose
// versions differ, and the references whose watches failed, with the messages. A reference that was not listed yet is
// in neither result.
func (r *References) Changed(name string) (changed []Reference, unwatched map[Reference]string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	user := r.referrers[name]
	if user == nil {
		return nil, nil
	}
	unwatched = map[Reference]string{}
	for _, ref := range user.refs {
		w := r.watches[ref.watchKey(user.reader)]
		switch {
		case w == nil:
		case w.failure != (Failure{}):
			unwatched[ref] = w.failure.Message
		case w.synced && w.differs(user, ref):
			changed = append(changed, ref)
		}
	}
	return changed, unwatched
}

// differsAny reports whether a component has a reference, among those in this watch, whose current version differs from
// the version that the component has read. The caller holds the lock.
func (w *referenceWatch) differsAny(user *referrer) bool {
	for _, ref := range user.refs {
		if ref.watchKey(user.reader) == w.key && w.differs(user, ref) {
			return true
		}
	}
	return false
}

// differs reports whether the current version of a reference differs from the version that a component has read. It
// returns false before the first list. The caller holds the lock.
func (w *referenceWatch) differs(user *referrer, ref Reference) bool {
	if !w.synced {
		return false
	}
	if ref.Name == "" {
		return (w.sum - w.sums[user.ownerID]).Version() != user.read[ref]
	}
	object := w.objects[objectName{ref.Namespace, ref.Name}]
	deleted := object.version == "" && user.read[ref] == VersionOwn
	if deleted || object.version != "" && object.owner == user.ownerID {
		return false
	}
	return Version(object.version) != user.read[ref]
}
