package component

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

// logPass tells of a pass in one line, if it changed something: dependents, or what the status says of the component. The logger of the context
// names the component.
func logPass(ctx context.Context, changes []Change, before, after *metav1alpha1.Status) {
	was, is := readyOf(before), readyOf(after)
	stuck := meta.IsStatusConditionTrue(after.Conditions, metav1alpha1.ConditionStalled)
	news := after.State != before.State || is.Reason != was.Reason || stuck && is.Message != was.Message
	if len(changes) == 0 && !news {
		return
	}
	log.FromContext(ctx).Info("reconciled", "changes", countVerbs(changes), "state", after.State, "reason", is.Reason, "message", is.Message)
}

func readyOf(status *metav1alpha1.Status) metav1.Condition {
	if c := meta.FindStatusCondition(status.Conditions, metav1alpha1.ConditionReady); c != nil {
		return *c
	}
	return metav1.Condition{}
}

// logGone tells of the last pass over a component.
func logGone(ctx context.Context, changes []Change) {
	log.FromContext(ctx).Info("deleted", "changes", countVerbs(changes))
}

// countVerbs says how many dependents were written in which way, in the order in which that began.
func countVerbs(changes []Change) string {
	counts := map[string]int{}
	var order []string
	for _, c := range changes {
		verb := strings.ToLower(c.Verb)
		if counts[verb] == 0 {
			order = append(order, verb)
		}
		counts[verb]++
	}
	parts := make([]string, 0, len(order))
	for _, verb := range order {
		parts = append(parts, fmt.Sprintf("%s %d", verb, counts[verb]))
	}
	return strings.Join(parts, ", ")
}
