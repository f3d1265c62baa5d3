package reconcile

import (
	"fmt"
	"testing"
	"time"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/input"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestAComponentThatChangesItsOwnInputIsRenderedWithADelay(t *testing.T) {
	c := &Component{Object: &part{Status: metav1alpha1.Status{Revision: 1}}, State: &State{}}
	own := feedback{own: []manifests.Key{{Kind: "ConfigMap", Name: "fed"}}, trigger: "others"}
	hold := func(f feedback, digest string, now time.Time) *passerror.Error {
		return passerror.Of(f.hold(c, input.Inputs{Digest: digest}, now))
	}
	for i := range 1 + immediateRenewals {
		if held := hold(own, fmt.Sprint(i), start); held != nil {
			t.Fatalf("rendering %d is held: %v", i, held)
		}
	}
	held := hold(own, "next", start)
	if held == nil || held.Reason != metav1alpha1.ReasonInputFeedback || held.RetryAfter != minRenewalDelay {
		t.Errorf("the next rendering is held by %v, want for %s", held, minRenewalDelay)
	}
	if held := hold(own, fmt.Sprint(immediateRenewals), start); held != nil {
		t.Errorf("inputs that were counted are held: %v", held)
	}
	if held := hold(feedback{}, "next", start); held != nil {
		t.Errorf("a component that does not write its inputs is held: %v", held)
	}
	if held := hold(own, "next", start.Add(minRenewalDelay)); held != nil {
		t.Errorf("the rendering is held after the delay: %v", held)
	}
}
