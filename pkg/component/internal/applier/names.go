package applier

import (
	"context"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-io/fairlead/pkg/component/internal/discovery"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// maxReviews is the maximum number of access reviews in a pass. A status names no more objects that wait.
const maxReviews = 10

// review is the answer to the question whether the identity of a component may get an object.
type review struct {
	key     manifests.Key
	allowed bool
}

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
	// The errors are logged, so ForEach returns no error.
	answers, _ := discovery.ForEach(unknown, func(key manifests.Key) ([]review, error) {
		allowed, err := client.MayGet(ctx, key)
		if err != nil && !apierrors.IsForbidden(err) {
			log.FromContext(ctx).V(1).Info("the owner of an object is not named, because an access review failed",
				"object", key.String(), "cause", err.Error())
			return nil, nil
		}
		return []review{{key, allowed}}, nil
	})
	if len(answers) == 0 {
		return nil, false
	}
	known = maps.Clone(f.Names.Known)
	if known == nil {
		known = map[manifests.Key]bool{}
	}
	for _, answer := range answers {
		known[answer.key] = answer.allowed
	}
	return known, true
}
