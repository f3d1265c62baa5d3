package components

import (
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
)

// request contains those fields of one version of a component that decide whether a pass is outdated. If these fields
// differ in a newer version, the pass must end.
type request struct {
	uid               types.UID
	generation        int64
	deleting, removed bool
	suspended         bool
	resourceVersion   string
}

func requestOf(obj client.Object) *request {
	return &request{
		uid: obj.GetUID(), generation: obj.GetGeneration(), deleting: !obj.GetDeletionTimestamp().IsZero(),
		suspended: suspendedOrFalse(obj), resourceVersion: obj.GetResourceVersion(),
	}
}

// SameRequest reports whether two versions of a component require the same pass: they are versions of the same object
// and have the same generation, and either both of them are being deleted or neither of them is.
func SameRequest(a, b client.Object) bool { return requestOf(a).equal(requestOf(b)) }

func (r *request) equal(other *request) bool {
	return r.sameLife(other) && r.generation == other.generation
}

// sameLife reports whether both requests are from versions of the same object, and either both of them are being
// deleted or neither of them is.
func (r *request) sameLife(other *request) bool {
	return r.uid == other.uid && r.deleting == other.deleting && r.removed == other.removed
}

// newer reports whether r is a later version than other. Watches may deliver an older version than the pass loaded.
func (r *request) newer(other *request) bool {
	return inspect.Newer(r.resourceVersion, other.resourceVersion)
}

// supersedes reports whether a pass over a loaded version must end because of r. A pass that runs to completion ends
// only if the component was deleted, recreated or suspended.
func (r *request) supersedes(loaded *request, runsToCompletion bool) bool {
	switch {
	case !r.newer(loaded):
		return false
	case runsToCompletion:
		return !r.sameLife(loaded) || r.suspended && !loaded.suspended
	}
	return !r.equal(loaded)
}
