package preview

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/pkg/component/internal/execute"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/rights"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// asked is the result of the dry run of an action, or the reason why no dry run was made.
type asked struct {
	execute.DryRunResult
	unchecked string
}

// ask makes a dry run of an action.
func (r *simulation) ask(ctx context.Context, a plan.Action) asked {
	if a.Key.IsExternal() {
		return asked{unchecked: notAsked}
	}
	switch a.Verb {
	case plan.VerbCreate, plan.VerbApply, plan.VerbReplace:
		if reason := r.unasked(a); reason != "" {
			return asked{unchecked: reason}
		}
		answer := asked{DryRunResult: r.client.Executor.DryRun(ctx, a)}
		if answer.unchecked = r.undecided(a, answer.Failure); answer.unchecked != "" {
			answer.Result = plan.Result{}
		}
		return answer
	case plan.VerbRead:
		return asked{DryRunResult: r.client.Executor.DryRun(ctx, a)}
	case plan.VerbDelete, plan.VerbOrphan:
		if !r.written[a.Key] {
			// The live object is only shown to the user. If the live object cannot be read, the action is still part of
			// the forecast.
			before, _ := r.client.Executor.Live(ctx, a)
			return asked{DryRunResult: execute.DryRunResult{Before: before}}
		}
	case plan.VerbCreateNamespace, plan.VerbTryDelete, plan.VerbGuard, plan.VerbProbe, plan.VerbUnguard:
	}
	return asked{}
}

// unasked returns the reason why a dry run cannot show the result of a write. The result is empty if a dry run can show
// the result of the write.
func (r *simulation) unasked(a plan.Action) string {
	switch {
	case r.away[a.Key]:
		return "the object still exists, but would be deleted before this step"
	case r.namespaces[a.Key.Namespace]:
		return "its namespace does not exist yet"
	case r.defined(a.Key) && r.facts.Results[a.Key].Observed == nil && !serves(r.client, a.Key, a.Version):
		return "its type is not defined yet"
	case r.written[a.Key]:
		return "the preview has already written this object once"
	}
	return ""
}

// serves reports whether the API server serves the type of an object.
func serves(client *target.Client, key manifests.Key, version string) bool {
	scope, err := client.Discovery.Scope(key.GroupKind().WithVersion(version))
	return err == nil && scope != manifests.ScopeUnknown
}

// undecided returns the reason why a failed dry run does not predict the result of the reconciler's write. The reason
// is empty if the dry run did not fail, or if the write would fail in the same way. The rights of an impersonated user
// are those of the reconciler's write.
func (r *simulation) undecided(a plan.Action, f *plan.Failure) string {
	switch {
	case f == nil:
		return ""
	case f.Cause == plan.CauseMissingRight && r.client.User == "":
		return "you lack a right for the dry run: " + strings.TrimSuffix(f.Message, "; "+rights.Grant)
	case f.Cause == plan.CauseDryRunUnsupported:
		return f.Message
	case f.IsInvalid() && r.defined(a.Key):
		return "its definition is written before it; the current definition refuses it: " + f.Message
	case f.IsInvalid() && r.mutated:
		return "what changes objects at admission is written before it; without it, it is refused: " + f.Message
	}
	return ""
}

// mutates reports whether objects of a kind change other objects at admission.
func mutates(kind schema.GroupKind) bool {
	return kind.Group == "admissionregistration.k8s.io" &&
		(kind.Kind == "MutatingWebhookConfiguration" || strings.HasPrefix(kind.Kind, "MutatingAdmissionPolicy"))
}
