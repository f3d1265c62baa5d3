package show

import (
	"io"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

// Status is what a person wants to know of a component first.
type Status struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Component  Component `json:"component"`
	// Since is when it got into its state, as far as that is known.
	Since *metav1.Time `json:"since,omitempty"`
	// DeletionTimestamp is when the deletion was requested.
	DeletionTimestamp *metav1.Time `json:"deletionTimestamp,omitempty"`
	// Conditions are ordered by type, Ready first.
	Conditions []Condition `json:"conditions"`
	// Waiting are the first ten dependents that hold the component up, or are contested.
	Waiting []Waiting `json:"waiting"`
	// Blockers say what a person must do before the deletion goes on; a component that is not being deleted has none.
	Blockers []string `json:"blockers"`
	// Next says when the operator looks at the component again.
	Next string `json:"next"`
	// ProgressingSince is when the component began to work towards its inputs; the time-out counts from there.
	ProgressingSince *metav1.Time `json:"progressingSince,omitempty"`
	// TimesOut is when it is Stalled with reason Timeout, where it is on its way and that is known.
	TimesOut *metav1.Time `json:"timesOut,omitempty"`
	// Reconciler is the name of the operator's reconciler, which prefixes its annotations.
	Reconciler string `json:"reconciler,omitempty"`
	Target     Target `json:"target"`
	// Source is what the spec says; Applied is what the present revision was made from.
	Source  string  `json:"source,omitempty"`
	Applied Applied `json:"applied"`
}

// Condition is a condition of a component.
type Condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message,omitempty"`
	// Since is when it got its status.
	Since metav1.Time `json:"since"`
}

// Waiting is a dependent that is waited for.
type Waiting struct {
	Dependent string `json:"dependent"`
	Wave      int32  `json:"wave"`
	Reason    string `json:"reason"`
	Message   string `json:"message,omitempty"`
}

// Target is where, and as what, the dependents are applied.
type Target struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	// Cluster is the UID of another cluster's namespace kube-system.
	Cluster string `json:"cluster,omitempty"`
}

// Applied identifies what the present revision was made from.
type Applied struct {
	Rendition    int64  `json:"rendition"`
	Source       string `json:"source,omitempty"`
	SourceDigest string `json:"sourceDigest,omitempty"`
	// InputDigest is that of the revision; AppliedDigest that of the last one whose dependents were all applied.
	InputDigest   string `json:"inputDigest,omitempty"`
	AppliedDigest string `json:"appliedDigest,omitempty"`
	LookupsDigest string `json:"lookupsDigest,omitempty"`
}

// Settings are what the spec of a component says, as far as its type is known.
type Settings struct {
	Source string
	// Interval and RetryInterval are when the operator looks again although nothing happens, and Timeout how long the component may be on its
	// way. Nil is not known, zero is off.
	Interval, RetryInterval, Timeout *time.Duration
}

// NewStatus puts together what is known of a component.
func NewStatus(obj *unstructured.Unstructured, status metav1alpha1.Status, settings Settings) Status {
	s := Status{
		APIVersion: SchemaVersion, Kind: "Status", Component: NewComponent(obj, status),
		DeletionTimestamp: obj.GetDeletionTimestamp(), ProgressingSince: status.ProgressingSince, Reconciler: status.Reconciler,
		Target:     Target{Namespace: status.TargetNamespace, Name: status.TargetName, Cluster: status.TargetCluster},
		Source:     settings.Source,
		Conditions: conditionsOf(status), Waiting: []Waiting{}, Blockers: blockersOf(obj, status),
		Applied: Applied{
			Rendition: status.Rendition, InputDigest: status.InputDigest, AppliedDigest: status.AppliedDigest, LookupsDigest: status.LookupsDigest,
		},
	}
	for _, r := range status.History {
		if r.Revision == status.Revision && r.Revision > 0 {
			s.Applied.Source, s.Applied.SourceDigest = r.Source, r.SourceDigest
		}
	}
	s.Since = since(status, obj.GetDeletionTimestamp())
	for _, w := range status.Waiting {
		s.Waiting = append(s.Waiting, Waiting{Dependent: w.Dependent, Wave: w.Wave, Reason: w.Reason, Message: w.Message})
	}
	if t := settings.Timeout; t != nil && *t > 0 && status.ProgressingSince != nil && status.State == metav1alpha1.StateProgressing {
		s.TimesOut = new(metav1.NewTime(status.ProgressingSince.Add(*t)))
	}
	s.Next = next(status, settings, s.Component)
	return s
}

// since tells when a component got into its state: when a condition did that says so, but not before the deletion that the state is about.
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

// IsReady says that the component is Ready for the spec that it has.
func (s Status) IsReady() bool {
	return s.Component.Ready == string(metav1.ConditionTrue) && s.Component.ObservedGeneration >= s.Component.Generation && s.DeletionTimestamp == nil
}

func conditionsOf(status metav1alpha1.Status) []Condition {
	conditions := make([]Condition, 0, len(status.Conditions))
	for _, c := range status.Conditions {
		conditions = append(conditions, Condition{Type: c.Type, Status: string(c.Status), Reason: c.Reason, Message: c.Message, Since: c.LastTransitionTime})
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

// blockersOf says what keeps a deletion from going on.
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
		if status.Reconciler != "" && f != status.Reconciler+"/finalizer" {
			blockers = append(blockers, "finalizer "+f+" of somebody else")
		}
	}
	return blockers
}

// Print writes the status. Ages are counted up to now.
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
