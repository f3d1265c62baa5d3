package show_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/show"
)

var _ = Describe("Status", func() {
	at := func(minute int) metav1.Time { return metav1.NewTime(time.Date(2026, 1, 1, 12, minute, 0, 0, time.UTC)) }
	conditions := []metav1.Condition{
		{Type: metav1alpha1.ConditionReady, Status: metav1.ConditionFalse, LastTransitionTime: at(1)},
		{Type: metav1alpha1.ConditionStalled, Status: metav1.ConditionTrue, LastTransitionTime: at(3)},
	}
	DescribeTable("has the time since which the component is in its state",
		func(state metav1alpha1.State, deleted, want *metav1.Time) {
			obj := &unstructured.Unstructured{Object: map[string]any{}}
			obj.SetDeletionTimestamp(deleted)
			status := show.NewStatus(obj, metav1alpha1.Status{State: state, Conditions: conditions}, show.Settings{})
			Expect(status.Since.Time).To(BeTemporally("==", want.Time))
		},
		Entry("the transition of Ready, if it is progressing", metav1alpha1.StateProgressing, nil, new(at(1))),
		Entry("the transition of Stalled, if it is stalled", metav1alpha1.StateStalled, nil, new(at(3))),
		Entry("the request of the deletion, if this is later", metav1alpha1.StateDeletionBlocked, new(at(5)), new(at(5))),
	)
})
