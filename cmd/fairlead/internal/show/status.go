package show

import (
	"io"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/dependentcauses"
)

// Status is the status of a component as commands print it.
type Status struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Component  Component `json:"component"`
	// Operator is set if the status may be old.
	Operator *Operator `json:"operator,omitempty"`
	// Grant is the command that grants the service account the rights that are missing; empty if none is known to be.
	Grant string `json:"grant,omitempty"`
	// Since is the time of the last change of the state. It is nil if the time is unknown.
	Since *metav1.Time `json:"since,omitempty"`
	// DeletionTimestamp is the time at which the deletion was requested.
	DeletionTimestamp *metav1.Time `json:"deletionTimestamp,omitempty"`
	// Conditions are sorted by type, Ready first.
	Conditions []Condition `json:"conditions"`
	// Waiting are the first ten dependents that the component waits for, or that other clients change repeatedly.
	Waiting []Waiting `json:"waiting"`
	// LeftOut are the first ten objects that are not applied, because their conditions are false.
	LeftOut []LeftOut `json:"leftOut,omitempty"`
	// Blocked are the types whose instances block the deletion, or a prune.
	Blocked []Blocked `json:"blocked"`
	// Exports are the values that the component publishes for other components.
	Exports []Export `json:"exports,omitempty"`
	// Blockers are the problems that a person must correct before the deletion proceeds. The list is empty for a
	// component that is not being deleted.
	Blockers []string `json:"blockers"`
	// Next is the time or the event at which the operator reconciles the component next, as a text.
	Next string `json:"next"`
	// ProgressingSince is the time at which the operator began to apply the component's inputs. The timeout begins at
	// this time.
	ProgressingSince *metav1.Time `json:"progressingSince,omitempty"`
	// TimesOut is the time at which a progressing component becomes Stalled with reason Timeout. It is nil if the
	// component is not progressing, or if its timeout is unknown.
	TimesOut *metav1.Time `json:"timesOut,omitempty"`
	// Reconciler is the name of the operator's reconciler, and the prefix of its annotations.
	Reconciler string `json:"reconciler,omitempty"`
	Target     Target `json:"target"`
	// Source is the source in the spec. Applied identifies the inputs of the current revision.
	Source  string  `json:"source,omitempty"`
	Applied Applied `json:"applied"`
}

// Condition is a condition of a component.
type Condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message,omitempty"`
	// Since is the time of the condition's last transition.
	Since metav1.Time `json:"since"`
}

// Waiting is a dependent that the component waits for.
type Waiting struct {
	Dependent string `json:"dependent"`
	Wave      int32  `json:"wave"`
	Reason    string `json:"reason"`
	Message   string `json:"message,omitempty"`
	// Causes are the reasons why the dependent is not ready, found in objects that belong to it, such as its Pods.
	Causes []dependentcauses.Cause `json:"causes,omitempty"`
}

// Blocked is a type whose instances block a deletion or a prune.
type Blocked struct {
	Type  string `json:"type"`
	Count int32  `json:"count"`
	// Names are the first ten instances.
	Names []string `json:"names,omitempty"`
	// Message says why it is not known whether instances exist.
	Message string `json:"message,omitempty"`
}

// Target contains the cluster and the namespace of the dependents.
type Target struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	// Cluster is the UID of the namespace kube-system, if the dependents are in another cluster.
	Cluster string `json:"cluster,omitempty"`
}

// Applied identifies the inputs of the current revision.
type Applied struct {
	Rendition    int64  `json:"rendition"`
	Source       string `json:"source,omitempty"`
	SourceDigest string `json:"sourceDigest,omitempty"`
	// InputDigest is the digest of the inputs of the current revision. AppliedDigest is the digest of the last inputs
	// that were applied in full, and AppliedGeneration the last generation of the component that was applied in full.
	InputDigest   string `json:"inputDigest,omitempty"`
	AppliedDigest string `json:"appliedDigest,omitempty"`
	LookupsDigest string `json:"lookupsDigest,omitempty"`

	AppliedGeneration int64 `json:"appliedGeneration,omitempty"`
}

// Settings has settings from the spec of a component of the ready-made operator.
type Settings struct {
	Source string
	// Exports are the names of the exports that the component publishes.
	Exports []string
	// Interval and RetryInterval are the intervals of passes without a change. Timeout is the maximum time from
	// ProgressingSince until the component is Ready. Nil means that the setting is unknown, zero that it is off.
	Interval, RetryInterval, Timeout *time.Duration
}

// NewStatus converts the status of a component into the form that commands print.
func NewStatus(obj *unstructured.Unstructured, status metav1alpha1.Status, settings Settings) Status {
	s := Status{
		APIVersion: SchemaVersion, Kind: "Status", Component: NewComponent(obj, status),
		DeletionTimestamp: obj.GetDeletionTimestamp(), ProgressingSince: status.ProgressingSince,
		Reconciler: status.Reconciler,
		Target:     Target{Namespace: status.TargetNamespace, Name: status.TargetName, Cluster: status.TargetCluster},
		Source:     settings.Source,
		Conditions: conditionsOf(status), Waiting: []Waiting{}, Blocked: blockedIn(status), Blockers: blockersOf(obj, status),
		Applied: Applied{
			Rendition: status.Rendition, InputDigest: status.InputDigest, AppliedDigest: status.AppliedDigest,
			LookupsDigest: status.LookupsDigest, AppliedGeneration: status.AppliedGeneration,
		},
	}
	s.Exports, s.LeftOut = exportsOf(status, settings.Exports), leftOutOf(status.LeftOut)
	for _, r := range status.History {
		if r.Revision == status.Revision && r.Revision > 0 {
			s.Applied.Source, s.Applied.SourceDigest = r.Source, r.SourceDigest
		}
	}
	s.Since = since(status, obj.GetDeletionTimestamp())
	for _, w := range status.Waiting {
		s.Waiting = append(s.Waiting, Waiting{Dependent: w.Dependent, Wave: w.Wave, Reason: w.Reason, Message: w.Message})
	}
	if t := settings.Timeout; t != nil && *t > 0 && status.ProgressingSince != nil &&
		status.State == metav1alpha1.StateProgressing {
		s.TimesOut = new(metav1.NewTime(status.ProgressingSince.Add(*t)))
	}
	s.Next = next(status, settings, s.Component)
	return s
}

// AddCauses adds causes to the dependents that the component waits for. The keys of found are names of dependents.
func (s *Status) AddCauses(found map[string][]dependentcauses.Cause) {
	for i := range s.Waiting {
		s.Waiting[i].Causes = found[s.Waiting[i].Dependent]
	}
}

// since returns the time since which the component is in its state: the last transition of the condition Stalled for a
// stalled component, and otherwise of the condition Ready. For a component that is being deleted, it is not before the
// request of the deletion.
func since(status metav1alpha1.Status, deletion *metav1.Time) *metav1.Time {
	tells := metav1alpha1.ConditionReady
	if status.State == metav1alpha1.StateStalled {
		tells = metav1alpha1.ConditionStalled
	}
	condition := meta.FindStatusCondition(status.Conditions, tells)
	if condition == nil {
		return nil
	}
	if deletion != nil && condition.LastTransitionTime.Before(deletion) {
		return deletion
	}
	return &condition.LastTransitionTime
}

// IsReady reports whether the component is Ready for its current spec, and no operator is known to be absent.
func (s Status) IsReady() bool {
	return s.Component.Ready == string(metav1.ConditionTrue) && s.Component.ObservedGeneration >= s.Component.Generation &&
		s.DeletionTimestamp == nil && (s.Operator == nil || s.Operator.State != operatorAbsent)
}

func conditionsOf(status metav1alpha1.Status) []Condition {
	conditions := make([]Condition, 0, len(status.Conditions))
	for _, c := range status.Conditions {
		conditions = append(conditions, Condition{
			Type: c.Type, Status: string(c.Status), Reason: c.Reason,
			Message: c.Message, Since: c.LastTransitionTime,
		})
	}
	slices.SortStableFunc(conditions, func(a, b Condition) int {
		switch first := metav1alpha1.ConditionReady; {
		case a.Type == b.Type:
			return 0
		case a.Type == first || b.Type != first && a.Type < b.Type:
			return -1
		}
		return 1
	})
	return conditions
}

func blockedIn(status metav1alpha1.Status) []Blocked {
	blocked := make([]Blocked, 0, len(status.Blocked))
	for _, b := range status.Blocked {
		blocked = append(blocked, Blocked{Type: b.Type, Count: b.Count, Names: b.Names, Message: b.Message})
	}
	return blocked
}

// blockersOf returns the problems that block a deletion.
func blockersOf(obj *unstructured.Unstructured, status metav1alpha1.Status) []string {
	blockers := []string{}
	if obj.GetDeletionTimestamp() == nil {
		return blockers
	}
	ready := meta.FindStatusCondition(status.Conditions, metav1alpha1.ConditionReady)
	if ready != nil && (status.State == metav1alpha1.StateDeletionBlocked || status.State == metav1alpha1.StateStalled) {
		blockers = append(blockers, ready.Message)
	}
	for _, f := range obj.GetFinalizers() {
		isOwn := f == status.Reconciler+"/finalizer" || slices.Contains(status.Finalizers, f)
		if status.Reconciler != "" && !isOwn {
			blockers = append(blockers, "finalizer "+f+" of another controller")
		}
	}
	return blockers
}

// Print writes the status. Ages are relative to now.
func (s Status) Print(o Output, now time.Time) error {
	switch {
	case o.Structured():
		return o.write(s)
	case o.Format == FormatName:
		return o.names([]string{s.Component.objectName()})
	}
	_, err := io.WriteString(o, lines(s.Lines(o, now)))
	return err
}
