package component

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/ready"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

// Condition decides by the content of a live object whether the object is ready. Manifests name it in the annotation
// ready-when, as go/NAME. The message explains that the object is not ready; it is shown in the status of the
// component, so it must not have data of Secrets. A Condition is called for each change of an object, by the watch: it
// must decide by self alone, and must neither wait nor send requests. After a panic the object is not ready.
type Condition func(self *unstructured.Unstructured) (ready bool, message string)

// ComponentCondition is a Condition that also sees the component, and so the values of event sources. It is called in
// each pass over the component, so that a value that wakes the component is seen. Like a Condition it must neither wait
// nor send requests, and it must change neither argument.
type ComponentCondition[T Component] func(component T, self *unstructured.Unstructured) (ready bool, message string)

// WithCondition adds a condition that manifests name in the annotation ready-when, as go/NAME, and returns the
// reconciler. The name is a DNS name that Options.Dependents.Conditions does not have. The kinds of the objects that
// name the condition must be in Options.Watching.CacheFull, because a pass reads these objects from the cache;
// otherwise the objects do not become ready. Call WithCondition before SetupWithManager.
func (r *Reconciler[T]) WithCondition(name string, holds ComponentCondition[T]) *Reconciler[T] {
	if r.conditions == nil {
		r.conditions = map[string]ComponentCondition[T]{}
	}
	r.conditions[name] = holds
	r.options.deferred = slices.Sorted(maps.Keys(r.conditions))
	return r
}

// Condition implements reconcile.Author.
func (a author[T]) Condition(obj components.Object, name string, self *unstructured.Unstructured) ready.Result {
	return inspect.ByCondition(self, name, func(self *unstructured.Unstructured) (bool, string) {
		component, err := typed[T](obj)
		if err != nil {
			return false, err.Error()
		}
		return a.conditions[name](component, self)
	})
}

// ConditionParameters implements reconcile.Author.
func (a author[T]) ConditionParameters(
	ctx context.Context, _ components.Object, request func() (generator.Request, error),
) (map[string]any, error) {
	if a.options.ConditionParameters == nil {
		return nil, nil
	}
	req, err := request()
	if err != nil {
		return nil, err
	}
	return a.options.ConditionParameters(ctx, req)
}

// Analyzer returns the readiness of a live object, in place of the rules of kstatus: one of the states NodeReady,
// NodeInProgress, NodeFailed and NodeUnknown of package result, and a message that explains a state other than
// NodeReady. Other states count as NodeUnknown. An object that is being deleted is not passed to the Analyzer. Status
// hints and the condition ready-when hold in addition. The rules for a Condition hold for an Analyzer, too; after a
// panic the readiness is unknown.
type Analyzer func(live *unstructured.Unstructured) (state result.NodeState, message string)

// view returns how the reconciler with the given name sees live objects.
func (o Options) view(name string) (inspect.View, error) {
	v := inspect.View{
		Reconciler: name, FieldOwner: o.Names.FieldOwner, PreviousFieldOwners: o.Names.PreviousFieldOwners,
		Conditions: map[string]inspect.Condition{}, Deferred: map[string]bool{},
		Analyzers: map[schema.GroupKind]inspect.Analyzer{}, Matchers: map[schema.GroupKind]inspect.Matcher{},
	}
	for _, name := range slices.Concat(o.deferred, slices.Sorted(maps.Keys(o.Dependents.Conditions))) {
		if errs := validation.IsDNS1123Subdomain(name); len(errs) > 0 {
			return inspect.View{}, fmt.Errorf("the name %q in Conditions: %s", name, strings.Join(errs, "; "))
		}
		if slices.Contains(o.deferred, name) {
			if v.Deferred[name] {
				return inspect.View{}, fmt.Errorf("the condition %q is in Conditions and in WithCondition", name)
			}
			v.Deferred[name] = true
			continue
		}
		if o.Dependents.Conditions[name] == nil {
			return inspect.View{}, fmt.Errorf("the condition %q in Conditions is nil", name)
		}
		v.Conditions[name] = inspect.Condition(o.Dependents.Conditions[name])
	}
	for gk, analyze := range o.Dependents.Analyzers {
		if analyze == nil {
			return inspect.View{}, fmt.Errorf("the analyzer of %s in Analyzers is nil", gk)
		}
		v.Analyzers[gk] = func(live *unstructured.Unstructured) ready.Result {
			state, message := analyze(live)
			return ready.Result{State: stateOf(state), Message: message}
		}
	}
	for gk, match := range o.Dependents.Matchers {
		if match == nil {
			return inspect.View{}, fmt.Errorf("the matcher of %s in Matchers is nil", gk)
		}
		v.Matchers[gk] = func(m inspect.Match) plan.MatchResult {
			component, _ := m.Component.(Component)
			verdict := match(Match{Component: component, Desired: m.Desired, Live: m.Live, Changed: m.Changed})
			return plan.MatchResult{Differs: verdict.Differs, Accepts: verdict.Accepts, LeaveUntil: verdict.LeaveUntil}
		}
	}
	return v, nil
}

// stateOf returns the readiness that an Analyzer returned.
func stateOf(s result.NodeState) ready.State {
	switch s {
	case result.NodeReady:
		return ready.Ready
	case result.NodeInProgress:
		return ready.InProgress
	case result.NodeFailed:
		return ready.Failed
	case result.NodeTerminating, result.NodeNotUpdated, result.NodeCompleted, result.NodeMissing, result.NodeUnknown:
	}
	return ready.Unknown
}

// conditionNames returns the names of the conditions, which is never nil.
func (o Options) conditionNames() []string {
	return append(append([]string{}, slices.Sorted(maps.Keys(o.Dependents.Conditions))...), o.deferred...)
}
