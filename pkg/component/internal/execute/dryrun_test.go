package execute

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

func TestDryRunReturnsTheObjectInTheAnswer(t *testing.T) {
	read, patch, put := "GET "+single, "PATCH "+single, "PUT "+single
	applied := found(func(o *unstructured.Unstructured) { o.SetResourceVersion("8") })
	migration := action(plan.VerbApply, metav1alpha1.UpdateSSAMerge)
	migration.Migrate = true
	takeover := takeOver("them", metav1alpha1.UpdateSSAMerge)
	takeover.Migrate = true
	managed := found(func(o *unstructured.Unstructured) { ownedInPart(o); ownedByThem(o) })
	for _, c := range []struct {
		name    string
		action  plan.Action
		answers []answer
		want    []string
		// after is the expected resource version of DryRunResult.After; empty if After is nil.
		after   string
		failure plan.WaitReason
	}{
		{
			"an update reads the live object and sends the request of the update",
			action(plan.VerbApply, metav1alpha1.UpdateSSAMerge),
			[]answer{found(nil), applied},
			[]string{read, patch},
			"8", "",
		},
		{
			"a refused update has no object", action(plan.VerbApply, metav1alpha1.UpdateSSAMerge),
			[]answer{found(nil), status(403, metav1.StatusReasonForbidden)},
			[]string{read, patch},
			"", "Forbidden",
		},
		{
			"a conflict has no object", action(plan.VerbApply, metav1alpha1.UpdateSSAMerge),
			[]answer{found(nil), status(409, metav1.StatusReasonConflict), found(nil)},
			[]string{read, patch, read},
			"", "",
		},
		{
			"a migration is one update with all managed fields", migration,
			[]answer{found(nil), found(ownedInPart), applied},
			[]string{read, read, put},
			"8", "",
		},
		{
			"a migration that takes over patches the owner first", takeover,
			[]answer{found(ownedByThem), found(ownedByThem), found(nil), applied},
			[]string{read, read, patch, put},
			"8", "",
		},
		{
			"a take-over of an object that no other client manages is sent as a migration",
			takeOver("them", metav1alpha1.UpdateSSAMerge),
			[]answer{found(ownedByThem), found(ownedByThem), found(nil), applied},
			[]string{read, read, patch, put},
			"8", "",
		},
		{
			"a replacement that takes over finds the owner again", takeOver("them", metav1alpha1.UpdateReplace),
			[]answer{found(ownedByThem), found(ownedByThem), found(nil), managed, applied},
			[]string{read, read, patch, read, put},
			"8", "",
		},
		{
			"a migration of a missing object fails", migration,
			[]answer{status(404, metav1.StatusReasonNotFound), status(404, metav1.StatusReasonNotFound)},
			[]string{read, read},
			"", "NotFound",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := &apiServer{answers: c.answers}
			e, tracker := server.executor(t)
			got := e.DryRun(t.Context(), c.action)
			if diff := cmp.Diff(c.want, server.verbs()); diff != "" {
				t.Fatal(diff)
			}
			var failure plan.WaitReason
			if got.Failure != nil {
				failure = got.Failure.Reason
			}
			if failure != c.failure {
				t.Errorf("the failure of the dry run is %q, want %q", failure, c.failure)
			}
			if (got.After != nil) != (c.after != "") || got.After != nil && got.After.GetResourceVersion() != c.after {
				t.Errorf("the field After of the result is %v", got.After)
			}
			if exists := c.answers[0].code == http.StatusOK; (got.Before != nil) != exists {
				t.Errorf("the field Before of the result is %v", got.Before)
			}
			if len(tracker.answers) > 0 {
				t.Errorf("the dry run passed the objects %v to the watches, want none", tracker.answers)
			}
		})
	}
}
