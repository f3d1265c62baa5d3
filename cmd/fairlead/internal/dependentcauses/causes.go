package dependentcauses

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/terminal"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Limit is the maximum number of causes of one dependent.
const Limit = 3

// maxMessage is the maximum number of characters of a message, because messages of schedulers and registries can be
// long.
const maxMessage = 400

// Cause is one reason why a dependent is not ready.
type Cause struct {
	// Object is the kind and name of the object that has the problem, such as "Pod apps/web-1".
	Object string `json:"object"`
	Reason string `json:"reason"`
	// Message is one line without control characters.
	Message string `json:"message,omitempty"`
}

// String returns the cause in one line.
func (c Cause) String() string {
	if c.Message == "" {
		return c.Object + ": " + c.Reason
	}
	return c.Object + ": " + c.Reason + ": " + c.Message
}

// IsIn reports whether the message of a dependent in the status ends with the cause, because the operator found it too.
func (c Cause) IsIn(message string) bool { return c.Message != "" && c.CutFrom(message) != message }

// CutFrom returns the message of a dependent in the status without the cause.
func (c Cause) CutFrom(message string) string {
	text := c.Reason + ": " + c.Message
	return strings.TrimSuffix(strings.TrimSuffix(message, text), "; ")
}

// Facts are the live objects from which Decide derives causes. Objects that could not be read are left out.
type Facts struct {
	// Dependent is the object that is not ready.
	Dependent *unstructured.Unstructured
	// ReplicaSets are the ReplicaSets of the dependent, if it is a Deployment.
	ReplicaSets []unstructured.Unstructured
	// Pods are the pods of the dependent, if it is a workload. If the dependent is a Pod, it is the only item.
	Pods []corev1.Pod
	// Claims are the claims of the pods. If the dependent is a PersistentVolumeClaim, it is the only item.
	Claims []corev1.PersistentVolumeClaim
	// MissingClasses are the names of storage classes that do not exist.
	MissingClasses map[string]bool
	// WithoutEndpoints are the Services without a ready endpoint to which an APIService or a webhook configuration
	// refers.
	WithoutEndpoints []manifests.Key
	// Warnings are the warning Events by the UID of their object.
	Warnings map[types.UID][]corev1.Event
	// LastLines are the last lines of the logs of containers that terminated.
	LastLines map[Container]string
}

// Container identifies a container.
type Container struct {
	Pod  types.UID
	Name string
}

// rules are sorted by precedence: an earlier rule returns more precise causes than a later rule.
var rules = []func(Facts) []Cause{
	brokenClaims,
	pods,
	replicaSets,
	services,
	ownWarnings,
	pendingClaims,
}

// Decide returns at most Limit causes, the most precise first.
func Decide(f Facts) []Cause {
	var found []Cause
	for _, rule := range rules {
		found = append(found, rule(f)...)
	}
	if len(found) == 0 {
		found = conditions(f)
	}
	var decided []Cause
	for _, c := range found {
		c.Message = oneLine(c.Message)
		if !slices.Contains(decided, c) && len(decided) < Limit {
			decided = append(decided, c)
		}
	}
	return decided
}

func replicaSets(f Facts) []Cause {
	var found []Cause
	for i := range f.ReplicaSets {
		set := &f.ReplicaSets[i]
		// An old ReplicaSet has zero desired replicas. Its Events are no longer relevant.
		if wanted, _, _ := unstructured.NestedInt64(set.Object, "spec", "replicas"); wanted > 0 {
			found = append(found, warningsOf(f, set)...)
		}
	}
	return found
}

func ownWarnings(f Facts) []Cause {
	if f.Dependent.GroupVersionKind().GroupKind() == (schema.GroupKind{Kind: "Pod"}) ||
		f.Dependent.GroupVersionKind().GroupKind() == claimKind {
		return nil // Other rules report the warnings of pods and claims.
	}
	return warningsOf(f, f.Dependent)
}

// warningsOf returns a cause for the latest warning Event of each reason, the latest Event first.
func warningsOf(f Facts, obj *unstructured.Unstructured) []Cause {
	var found []Cause
	for _, e := range latest(f.Warnings[obj.GetUID()]) {
		// The API server keeps an Event for an hour, even if its cause no longer exists.
		if e.Reason == "FailedCreate" && hasItsPods(obj) {
			continue
		}
		found = append(found, Cause{Object: nameOf(obj), Reason: e.Reason, Message: e.Message})
	}
	return found
}

// latest returns the latest Event of each reason, the latest first.
func latest(events []corev1.Event) []corev1.Event {
	sorted := slices.SortedFunc(slices.Values(events), func(a, b corev1.Event) int {
		return cmp.Or(
			timeOf(b).Compare(timeOf(a)), strings.Compare(a.Reason, b.Reason), strings.Compare(a.Message, b.Message),
		)
	})
	reasons := map[string]bool{}
	return slices.DeleteFunc(sorted, func(e corev1.Event) bool {
		known := reasons[e.Reason]
		reasons[e.Reason] = true
		return known
	})
}

func timeOf(e corev1.Event) time.Time {
	switch {
	case e.Series != nil:
		return e.Series.LastObservedTime.Time
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp.Time
	case !e.EventTime.IsZero():
		return e.EventTime.Time
	}
	return e.CreationTimestamp.Time
}

// hasItsPods reports whether all desired pods of a workload exist. For a Job, one active pod is sufficient.
func hasItsPods(workload *unstructured.Unstructured) bool {
	number := func(fields ...string) int64 {
		n, _, _ := unstructured.NestedInt64(workload.Object, fields...)
		return n
	}
	switch workload.GetKind() {
	case "ReplicaSet", "StatefulSet":
		return number("status", "replicas") >= number("spec", "replicas")
	case "DaemonSet":
		wanted := number("status", "desiredNumberScheduled")
		return wanted > 0 && number("status", "currentNumberScheduled") >= wanted
	case "Job":
		return number("status", "active") > 0
	}
	return false
}

func services(f Facts) []Cause {
	var found []Cause
	for _, key := range f.WithoutEndpoints {
		found = append(found, Cause{
			Object: key.String(), Reason: "NoReadyEndpoints",
			Message: "the service has no ready endpoint",
		})
	}
	return found
}

// conditions returns a cause for each condition of a dependent that is False and has a message. It returns no causes
// for workloads, because the message about their readiness already contains their conditions.
func conditions(f Facts) []Cause {
	if isWorkload(f.Dependent.GroupVersionKind().GroupKind()) {
		return nil
	}
	all, _, _ := unstructured.NestedSlice(f.Dependent.Object, "status", "conditions")
	var found []Cause
	for _, item := range all {
		condition, _ := item.(map[string]any)
		text := func(field string) string { value, _ := condition[field].(string); return value }
		if text("status") == "False" && text("message") != "" {
			found = append(found, Cause{
				Object: nameOf(f.Dependent), Reason: cmp.Or(text("reason"), text("type")),
				Message: text("type") + " is False: " + text("message"),
			})
		}
	}
	slices.SortStableFunc(found, func(a, b Cause) int { return strings.Compare(a.Message, b.Message) })
	return found
}

func isWorkload(gk schema.GroupKind) bool {
	return gk.Group == "apps" || gk.Group == "batch" || gk == schema.GroupKind{Kind: "Pod"}
}

func nameOf(obj *unstructured.Unstructured) string {
	gvk := obj.GroupVersionKind()
	return manifests.Key{
		Group: gvk.Group, Kind: gvk.Kind, Namespace: obj.GetNamespace(), Name: obj.GetName(),
	}.String()
}

func oneLine(text string) string {
	text = terminal.Clean(strings.Join(strings.Fields(text), " "))
	if runes := []rune(text); len(runes) > maxMessage {
		return fmt.Sprintf("%s…", string(runes[:maxMessage]))
	}
	return text
}
