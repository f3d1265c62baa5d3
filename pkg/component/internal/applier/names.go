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
// component may get the object. It returns the names with all answers, and whether there are new ones, so that the plan
// has to be made again. Without an answer the owner is not named, and a later pass asks again. A refused review counts
// as an answer. Each object is asked about once in a pass.
func (a *Applier) NameOwners(
	ctx context.Context, client *target.Client, f plan.Facts, decided plan.Plan,
) (names plan.Names, asked bool) {
	names = f.Names
	if names.All {
		return names, false
	}
	var unknown []manifests.Key
	for _, key := range decided.Unnamed(f) {
		if _, answered := names.Known[key]; !answered && !names.Asked[key] && len(names.Asked)+len(unknown) < maxReviews {
			unknown = append(unknown, key)
		}
	}
	answers := client.MayGet(ctx, unknown)
	names.Asked = union(names.Asked, nil)
	for _, key := range unknown {
		names.Asked[key] = true
	}
	names.Known = union(names.Known, answers)
	return names, len(answers) > 0
}

// reviewerOf returns the reviewer of a pass.
func reviewerOf(client *target.Client, r Request) reviewer {
	return reviewer{user: client.User, requested: r.Requested}
}

// union returns a new map with the entries of both maps.
func union(a, b map[manifests.Key]bool) map[manifests.Key]bool {
	both := make(map[manifests.Key]bool, len(a)+len(b))
	maps.Copy(both, a)
	maps.Copy(both, b)
	return both
}
