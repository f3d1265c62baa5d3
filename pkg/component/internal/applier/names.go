package applier

import (
	"context"
	"maps"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// maxReviews is the maximum number of access reviews in a pass. A status names no more objects that wait.
const maxReviews = 10

// NameOwners asks the API server, for the conflicts of a plan that nobody has asked about, whether the identity of the
// component may get the object. It returns all answers, and whether there are new ones, so that the plan has to be made
// again. Without an answer the owner is not named, and a later pass asks again. A refused review counts as an answer.
func (a *Applier) NameOwners(
	ctx context.Context, client *target.Client, f plan.Facts, decided plan.Plan,
) (known map[manifests.Key]bool, asked bool) {
	if f.Names.All {
		return nil, false
	}
	var unknown []manifests.Key
	for _, key := range decided.Unnamed(f) {
		if _, answered := f.Names.Known[key]; !answered && len(unknown) < maxReviews {
			unknown = append(unknown, key)
		}
	}
	answers := client.MayGet(ctx, unknown)
	if len(answers) == 0 {
		return nil, false
	}
	known = maps.Clone(f.Names.Known)
	if known == nil {
		known = map[manifests.Key]bool{}
	}
	maps.Copy(known, answers)
	return known, true
}
