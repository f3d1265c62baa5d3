// Package ready computes the readiness of a dependent from the object alone.
package ready

import (
	"fmt"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// State is the readiness of a dependent.
type State string

// The states.
const (
	// Ready: the object reached what its spec asks for, at its current generation.
	Ready State = "Ready"
	// InProgress: it is on its way.
	InProgress State = "InProgress"
	// Failed: it reports that it will not get there without a change.
	Failed State = "Failed"
	// Terminating: it has a deletion timestamp.
	Terminating State = "Terminating"
	// Unknown: the object's status cannot be understood.
	Unknown State = "Unknown"
)

// Result is a state with its explanation.
type Result struct {
	State State
	// Message explains a state other than Ready to a person.
	Message string
}

// needed are conditions that must be true besides what kstatus asks for.
var needed = map[schema.GroupKind]string{
	// kstatus takes a Job that started for current, but what the next wave waits for is its work, such as the migration of a database.
	{Group: "batch", Kind: "Job"}: "Complete",
	// kstatus does not know the type. An API whose server does not answer yet makes every use of it fail.
	{Group: "apiregistration.k8s.io", Kind: "APIService"}: "Available",
}

// conventions are hints for types that we know ourselves. Of the ready-made operator's components we know that one without a Ready condition
// is new: its controller has not looked at it, and kstatus would take it for current.
var conventions = map[schema.GroupKind]Hints{
	{Group: "fairlead.io", Kind: "Component"}: {HasReadyCondition: true},
}

// Of computes the readiness of a live object by the rules of kstatus, with the exceptions of needed, and of what the hints say. A condition
// that its controller set for an older generation says nothing of this one. The object is only read.
func Of(obj *unstructured.Unstructured, hints Hints) Result {
	r := byKstatus(obj)
	if runsToCompletion(obj) && r.State != Terminating {
		r = ofRun(obj)
	}
	if message := outdated(obj); message != "" && r.State != Terminating {
		return Result{State: InProgress, Message: message}
	}
	if r.State != Ready {
		return r
	}
	gk := obj.GroupVersionKind().GroupKind()
	known := conventions[gk]
	known.Conditions = []string{needed[gk]}
	for _, h := range []Hints{known, hints} {
		if message := h.missing(obj); message != "" {
			return Result{State: InProgress, Message: message}
		}
	}
	return r
}

var pod = schema.GroupKind{Kind: "Pod"}

// runsToCompletion says of a Pod that it is not started again when it succeeds.
func runsToCompletion(obj *unstructured.Unstructured) bool {
	policy, _, _ := unstructured.NestedString(obj.Object, "spec", "restartPolicy")
	return obj.GroupVersionKind().GroupKind() == pod && (policy == "Never" || policy == "OnFailure")
}

// ofRun computes the readiness of a Pod that runs to completion. kstatus takes it for current while it runs, but like that of a Job its
// work is what the next wave waits for.
func ofRun(obj *unstructured.Unstructured) Result {
	phase, _, _ := unstructured.NestedString(obj.Object, "status", "phase")
	switch phase {
	case "Succeeded":
		return Result{State: Ready}
	case "Failed":
		return Result{State: Failed, Message: "the pod failed"}
	}
	return Result{State: InProgress, Message: "the pod has not completed"}
}

func byKstatus(obj *unstructured.Unstructured) Result {
	r, err := status.Compute(obj)
	if err != nil {
		return Result{State: Unknown, Message: fmt.Sprintf("its status cannot be understood: %v", err)}
	}
	switch r.Status {
	case status.CurrentStatus:
		return Result{State: Ready}
	case status.FailedStatus:
		return Result{State: Failed, Message: r.Message}
	case status.TerminatingStatus:
		return Result{State: Terminating, Message: "it is being deleted"}
	case status.InProgressStatus:
		return Result{State: InProgress, Message: r.Message}
	case status.NotFoundStatus, status.UnknownStatus:
		return Result{State: Unknown, Message: r.Message}
	}
	return Result{State: Unknown, Message: r.Message}
}
