package ready

import (
	"fmt"
	"maps"
	"strconv"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// State is the readiness of a dependent.
type State string

// The states.
const (
	// Ready: the object reached its current spec.
	Ready State = "Ready"
	// InProgress: the object has not reached its current spec yet.
	InProgress State = "InProgress"
	// Failed: the object reports that it will not reach its spec without a change.
	Failed State = "Failed"
	// Terminating: the object has a deletion timestamp.
	Terminating State = "Terminating"
	// Unknown: the status of the object cannot be read.
	Unknown State = "Unknown"
	// Unread: only the content of the object shows its readiness, and only its metadata is known.
	Unread State = "Unread"
)

// Result is a state with its explanation.
type Result struct {
	State State
	// Message explains a state other than Ready.
	Message string
	// Deferred is the name of the condition in Go that a pass has to evaluate, because it sees the component. Apart from
	// this condition, the object is ready. Deferred is empty if there is no such condition.
	Deferred string
}

// required are conditions that must be true in addition to the rules of kstatus.
var required = map[schema.GroupKind]string{
	// kstatus treats a Job as ready when the Job has started. But the next wave must wait until the Job has completed,
	// for example a database migration.
	{Group: "batch", Kind: "Job"}: "Complete",
	// kstatus has no rule for APIServices. Requests to an aggregated API fail until its server is available.
	{Group: "apiregistration.k8s.io", Kind: "APIService"}: "Available",
}

// conventions are hints for the types of Fairlead. A new Component has no condition Ready yet, but kstatus would treat
// it as ready.
var conventions = map[schema.GroupKind]Hints{
	{Group: "fairlead.io", Kind: "Component"}: {HasReadyCondition: true},
}

// Of returns the readiness of a live object. Of applies the rules of kstatus, then the additional conditions for some
// types (see required and conventions), and then the hints. A condition that was set for an older generation is
// ignored. If kstatus cannot read the status, the conditions in the hints determine the readiness; without such hints
// the state is Unknown. The
// message of an object in progress has the condition that explains the delay, if a workload reports such a condition.
func Of(obj *unstructured.Unstructured, hints Hints) Result {
	obj = withIntegerGeneration(obj)
	return withObstacle(obj, of(obj, hints))
}

// of returns the readiness of an object without its obstacles.
func of(obj *unstructured.Unstructured, hints Hints) Result {
	r := byKstatus(obj)
	if RunsToCompletion(obj) && r.State != Terminating {
		r = ofRun(obj)
	}
	if message := outdated(obj); message != "" && r.State != Terminating {
		return Result{State: InProgress, Message: message}
	}
	if r.State == Unknown && hints.decide(obj) {
		r = byStalled(obj)
	}
	if r.State != Ready {
		return r
	}
	gk := obj.GroupVersionKind().GroupKind()
	known := conventions[gk]
	known.Conditions = []string{required[gk]}
	for _, h := range []Hints{known, hints} {
		if message := h.Missing(obj); message != "" {
			return Result{State: InProgress, Message: message}
		}
	}
	return r
}

var pod = schema.GroupKind{Kind: "Pod"}

// RunsToCompletion reports whether an object is a Pod whose containers are not restarted after they succeed.
func RunsToCompletion(obj *unstructured.Unstructured) bool {
	policy, _, _ := unstructured.NestedString(obj.Object, "spec", "restartPolicy")
	return obj.GroupVersionKind().GroupKind() == pod && (policy == "Never" || policy == "OnFailure")
}

// ofRun returns the readiness of a Pod that runs to completion. kstatus treats a running Pod as ready. But the next
// wave must wait until the Pod has completed, as for a Job.
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

// withIntegerGeneration returns a copy of the object with status.observedGeneration as an integer, if this field is a
// string of digits. Argo Rollouts writes the field as a string, which kstatus cannot read. Other objects are returned
// unchanged.
func withIntegerGeneration(obj *unstructured.Unstructured) *unstructured.Unstructured {
	status, _ := obj.Object["status"].(map[string]any)
	text, isText := status["observedGeneration"].(string)
	if !isText {
		return obj
	}
	generation, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return obj
	}
	top, status := maps.Clone(obj.Object), maps.Clone(status)
	status["observedGeneration"] = generation
	top["status"] = status
	return &unstructured.Unstructured{Object: top}
}

// byStalled returns Failed if the condition Stalled is true for the current generation, and Ready otherwise.
func byStalled(obj *unstructured.Unstructured) Result {
	condition, err := findCondition(obj, conditionStalled)
	if err != nil || condition == nil || condition["status"] != "True" {
		return Result{State: Ready}
	}
	message, _ := condition["message"].(string)
	return Result{State: Failed, Message: message}
}

func byKstatus(obj *unstructured.Unstructured) Result {
	r, err := status.Compute(obj)
	if err != nil {
		return Result{State: Unknown, Message: fmt.Sprintf("its status cannot be read: %v", err)}
	}
	switch r.Status {
	case status.CurrentStatus:
		return Result{State: Ready}
	case status.FailedStatus:
		return Result{State: Failed, Message: r.Message}
	case status.TerminatingStatus:
		return BeingDeleted(obj)
	case status.InProgressStatus:
		return Result{State: InProgress, Message: r.Message}
	case status.NotFoundStatus, status.UnknownStatus:
		return Result{State: Unknown, Message: r.Message}
	}
	return Result{State: Unknown, Message: r.Message}
}
