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

// Of computes the readiness of a live object by the rules of kstatus, with the exceptions of needed. The object is only read.
func Of(obj *unstructured.Unstructured) Result {
	r := byKstatus(obj)
	condition := needed[obj.GroupVersionKind().GroupKind()]
	if r.State != Ready || condition == "" {
		return r
	}
	if holds, message := isTrue(obj, condition); !holds {
		return Result{State: InProgress, Message: message}
	}
	return r
}

// isTrue says whether a condition is true, and what the object says of it where it is not.
func isTrue(obj *unstructured.Unstructured, kind string) (holds bool, message string) {
	conditions, _, err := unstructured.NestedSlice(obj.Object, "status", "conditions")
	if err != nil {
		return false, fmt.Sprintf("its conditions cannot be understood: %v", err)
	}
	for _, c := range conditions {
		condition, ok := c.(map[string]any)
		if !ok || condition["type"] != kind {
			continue
		}
		text, _ := condition["message"].(string)
		return condition["status"] == "True", fmt.Sprintf("not %s yet: %s", kind, text)
	}
	return false, fmt.Sprintf("not %s yet", kind)
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
