package applier

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fairlead-io/fairlead/pkg/component/internal/apiservertest"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

func TestAPassReviewsEachObjectOnceAndFewOfThem(t *testing.T) {
	c := newCluster(t)
	c.client.User = "shop"
	var reviews atomic.Int32
	c.refuse(func(r apiservertest.Request) error {
		if strings.HasSuffix(r.Path, "/selfsubjectaccessreviews") {
			reviews.Add(1)
			return apierrors.NewInternalError(errors.New("no answer"))
		}
		return nil
	})
	f := plan.Facts{Live: plan.Snapshot{}}
	var p plan.Plan
	for i := range 3 * maxReviews {
		key := keyOf(fmt.Sprintf("c%02d", i))
		f.Live[key] = &plan.Observed{Presence: plan.Present, Owner: "them"}
		p.Waiting = append(p.Waiting, plan.Waiting{Key: key, Reason: plan.WaitOwnershipConflict})
	}
	for range 3 {
		f.Names, _ = c.applier.NameOwners(t.Context(), c.client, f, p)
	}
	if reviews.Load() != maxReviews || len(f.Names.Asked) != maxReviews {
		t.Errorf("there are %d reviews, want %d", reviews.Load(), maxReviews)
	}
}
