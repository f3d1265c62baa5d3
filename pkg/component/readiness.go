package component

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/ready"
)

// Condition decides by the content of a live object whether the object is ready. Manifests name it in the annotation
// ready-when, as go/NAME. The message explains that the object is not ready; it is shown in the status of the
// component, so it must not have data of Secrets. A Condition is called for each change of an object, by the watch: it
// must decide by self alone, and must neither wait nor send requests. After a panic the object is not ready.
type Condition func(self *unstructured.Unstructured) (ready bool, message string)

// Analyzer returns the readiness of a live object, in place of the rules of kstatus: NodeReady, NodeInProgress,
// NodeFailed or NodeUnknown, and a message that explains a state other than NodeReady. Other states count as
// NodeUnknown. An object that is being deleted is not passed to the Analyzer. Status hints and the condition ready-when
// hold in addition. The rules for a Condition hold for an Analyzer, too; after a panic the readiness is unknown.
type Analyzer func(live *unstructured.Unstructured) (state NodeState, message string)

// view returns how the reconciler with the given name sees live objects.
func (o EngineOptions) view(name string) (inspect.View, error) {
	v := inspect.View{
		Reconciler: name, Conditions: map[string]inspect.Condition{},
		Analyzers: map[schema.GroupKind]inspect.Analyzer{}, Matchers: map[schema.GroupKind]inspect.Matcher{},
	}
	for _, name := range slices.Sorted(maps.Keys(o.Conditions)) {
		if errs := validation.IsDNS1123Subdomain(name); len(errs) > 0 {
			return inspect.View{}, fmt.Errorf("the name %q in Conditions: %s", name, strings.Join(errs, "; "))
		}
		if o.Conditions[name] == nil {
			return inspect.View{}, fmt.Errorf("the condition %q in Conditions is nil", name)
		}
		v.Conditions[name] = inspect.Condition(o.Conditions[name])
	}
	for gk, analyze := range o.Analyzers {
		if analyze == nil {
			return inspect.View{}, fmt.Errorf("the analyzer of %s in Analyzers is nil", gk)
		}
		v.Analyzers[gk] = func(live *unstructured.Unstructured) ready.Result {
			state, message := analyze(live)
			return ready.Result{State: stateOf(state), Message: message}
		}
	}
	for gk, match := range o.Matchers {
		if match == nil {
			return inspect.View{}, fmt.Errorf("the matcher of %s in Matchers is nil", gk)
		}
		v.Matchers[gk] = func(desired, live *unstructured.Unstructured) plan.Verdict {
			verdict := match(desired, live)
			return plan.Verdict{Differs: verdict.Differs, LeaveUntil: verdict.LeaveUntil}
		}
	}
	return v, nil
}

// stateOf returns the readiness that an Analyzer returned.
func stateOf(s NodeState) ready.State {
	switch s {
	case NodeReady:
		return ready.Ready
	case NodeInProgress:
		return ready.InProgress
	case NodeFailed:
		return ready.Failed
	case NodeTerminating, NodeNotUpdated, NodeCompleted, NodeMissing, NodeUnknown:
	}
	return ready.Unknown
}

// conditionNames returns the names of the conditions, which is never nil.
func (o Options) conditionNames() []string {
	return append([]string{}, slices.Sorted(maps.Keys(o.Conditions))...)
}
