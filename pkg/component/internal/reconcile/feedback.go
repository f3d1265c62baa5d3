package reconcile

import (
	"fmt"
	"strings"
	"time"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/digests"
	"github.com/fairlead-io/fairlead/pkg/component/internal/input"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// feedback says which inputs a component writes itself, because they are among its dependents.
type feedback struct {
	own []manifests.Key
	// trigger identifies the other inputs, and the last request for a pass. It is empty without own inputs.
	trigger string
}

// feedbackOf returns the inputs that a component writes itself. Dependents in another cluster are no inputs.
func (p *Pass) feedbackOf(c *Component, w work) (f feedback, err error) {
	in := w.inputs
	if w.target.Cluster != "" || len(in.References)+len(in.EventSources) == 0 {
		return feedback{}, nil
	}
	dependents := plan.NewInventory(w.recorded.Entries)
	others, own, err := in.WithoutOwn(func(key manifests.Key) bool {
		_, recorded := dependents[key]
		return recorded
	})
	if err != nil || len(own) == 0 {
		return feedback{}, err
	}
	f.own = own
	trigger, err := digests.Of([]any{c.GetGeneration(), others})
	if err == nil {
		f.trigger, err = repairNonce(c.Object, p.Reconciler, trigger)
	}
	return f, err
}

// hold returns an error if changed inputs must not be rendered yet, because the component has changed its own inputs
// too often. In a preview nothing is held.
func (f feedback) hold(c *Component, in input.Inputs, now time.Time) error {
	if len(f.own) == 0 || c.GetStatus().Revision == 0 || in.AreRecorded(c.GetStatus()) {
		return nil
	}
	renewals := &c.State.renewals
	due := renewals.renew(f.trigger, in.Digest, now)
	if due.IsZero() {
		return nil
	}
	names := make([]string, 0, len(f.own))
	for _, key := range f.own {
		names = append(names, key.String())
	}
	return &passerror.Error{
		Reason: metav1alpha1.ReasonInputFeedback, RetryAfter: max(due.Sub(now), time.Millisecond), Message: fmt.Sprintf(
			"%s: an input and a dependent of this component, so a rendering changes its own input; rendered %d times since "+
				"the other inputs changed; the next rendering is at %s, and only repairs are made until then; take the input from "+
				"an object that this component does not write",
			strings.Join(names, ", "), renewals.count, due.UTC().Format(time.RFC3339)),
	}
}
