package applier

import (
	"fmt"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// refuseTerminating adds the failures of those creates to refused whose namespace is a dependent that is being deleted.
// The API server would refuse them after the objects of earlier waves were written. The failures are transient, because
// a later pass creates the namespace again. Other failures of the same objects stay.
func refuseTerminating(refused map[manifests.Key]plan.Failure, facts plan.Facts, writes []plan.Action) {
	for _, a := range writes {
		namespace := manifests.Key{Kind: "Namespace", Name: a.Key.Namespace}
		later := a.Object.Settings.Phase != manifests.PhaseApply
		if _, known := refused[a.Key]; known || later || a.Verb != plan.VerbCreate || !facts.Live.Of(namespace).Terminating {
			continue
		}
		refused[a.Key] = plan.Failure{
			Class: plan.Transient, Reason: plan.WaitNamespaceTerminating,
			Message: fmt.Sprintf("namespace %s is being deleted, and nothing can be created in it; "+
				"nothing of this revision is written until it is deleted", a.Key.Namespace),
		}
	}
}
