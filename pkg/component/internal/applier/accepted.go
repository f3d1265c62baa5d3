package applier

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/pkg/component/internal/discovery"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// acceptedChanges are the changes of objects that the API server has accepted in dry runs, so that a retry of the same
// set does not repeat these dry runs. They are dropped as soon as the set is applied.
type acceptedChanges map[manifests.Key]acceptedChange

// acceptedChange identifies a change: by its manifest, by the live object without its status, and by the schema of its
// type, whose rules may be changed.
type acceptedChange struct {
	digest     string
	uid        types.UID
	generation int64
	schema     *discovery.Type
}

// changeOf returns the change that a write makes.
func (v *validation) changeOf(a plan.Action) acceptedChange {
	return acceptedChange{
		digest: a.Object.Digest, uid: a.Preconditions.UID, generation: v.live.Of(a.Key).Generation,
		schema: v.types[a.Object.GroupVersionKind()],
	}
}

// isAccepted reports whether a dry run of a write was accepted before.
func (v *validation) isAccepted(a plan.Action) bool {
	accepted, known := v.accepted[a.Key]
	return known && accepted == v.changeOf(a)
}
