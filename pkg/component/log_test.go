package component

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

func TestLogPass(t *testing.T) {
	at := func(v verdict) *metav1alpha1.Status {
		status := &metav1alpha1.Status{}
		summarise(status, 1, v, time.Unix(0, 0))
		return status
	}
	verbs := func(names ...string) (changes []Change) {
		for _, name := range names {
			changes = append(changes, Change{Verb: name})
		}
		return changes
	}
	ready := verdict{metav1alpha1.StateReady, metav1alpha1.ReasonReady, "2 dependents are ready"}
	waiting := verdict{metav1alpha1.StateProgressing, metav1alpha1.ReasonDependentsNotReady, "waiting until ready: web (0/2)"}
	stalled := verdict{metav1alpha1.StateStalled, metav1alpha1.ReasonGenerateFailed, "a.yaml:1: no"}
	for _, c := range []struct {
		name    string
		changes []Change
		then    verdict
		before  *metav1alpha1.Status
		want    string
	}{
		{"the first pass", verbs("Create", "Create", "Apply"), waiting, &metav1alpha1.Status{}, `"changes"="create 2, apply 1" "state"="Progressing"`},
		{"a component that becomes ready", nil, ready, at(waiting), `"changes"="" "state"="Ready" "reason"="Ready" "message"="2 dependents are ready"`},
		{"a repair", verbs("Apply"), ready, at(ready), `"changes"="apply 1" "state"="Ready"`},
		{"one that stalls", nil, stalled, at(ready), `"state"="Stalled" "reason"="GenerateFailed" "message"="a.yaml:1: no"`},
		{"one that stalls in another way", nil, verdict{stalled.state, stalled.reason, "b.yaml:2: no"}, at(stalled), `b.yaml:2`},
		{"one that begins to retry", nil, verdict{waiting.state, metav1alpha1.ReasonRetrying, "slow"}, at(waiting), `"reason"="Retrying" "message"="slow"`},
		{"nothing of one that stays ready", nil, ready, at(ready), ""},
		{"nothing of one that stays stalled", nil, stalled, at(stalled), ""},
		{"nothing of one that stays stalled for several reasons", nil, verdict{stalled.state, stalled.reason, "a\nb"}, at(verdict{stalled.state, stalled.reason, "a\nb"}), ""},
		{"nothing of one that comes closer", nil, verdict{waiting.state, waiting.reason, "waiting until ready: web (1/2)"}, at(waiting), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var lines []string
			logger := funcr.New(func(prefix, args string) { lines = append(lines, prefix+args) }, funcr.Options{})
			logPass(log.IntoContext(context.Background(), logger), c.changes, c.before, at(c.then))
			got := strings.Join(lines, "\n")
			if (c.want == "") != (got == "") || !strings.Contains(got, c.want) || len(lines) > 1 {
				t.Errorf("logged %q", got)
			}
		})
	}
}
