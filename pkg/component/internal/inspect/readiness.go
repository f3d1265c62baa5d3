package inspect

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/internal/authorcode"
	"github.com/fairlead-io/fairlead/internal/expression"
	"github.com/fairlead-io/fairlead/internal/settingtext"
	"github.com/fairlead-io/fairlead/pkg/component/internal/ready"
	"github.com/fairlead-io/fairlead/pkg/component/internal/serverrules"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// View is how a reconciler sees live objects.
type View struct {
	// Reconciler is the name of the reconciler.
	Reconciler string
	// FieldOwner is the field manager of the reconciler's writes; the name of the reconciler if it is empty.
	// PreviousFieldOwners are its field managers before.
	FieldOwner          string
	PreviousFieldOwners []string
	// Conditions are the conditions in Go that the annotation ready-when may name.
	Conditions map[string]Condition
	// Deferred are the names of conditions in Go that only a pass over the component can evaluate.
	Deferred map[string]bool
	// Analyzers decide about the readiness of objects of their kinds, in place of kstatus.
	Analyzers map[schema.GroupKind]Analyzer
	// Matchers compare objects of their kinds with their manifests, in place of the comparison of owned fields.
	Matchers map[schema.GroupKind]Matcher
	// Component is the component that Matchers see; nil for an Engine.
	Component metav1.Object
	// Allowance bounds the time of expressions. An object whose expression cannot be evaluated within it is Unread.
	Allowance *Allowance
}

// Condition decides by the content of a live object whether the object is ready. The message explains that it is not.
type Condition func(self *unstructured.Unstructured) (ready bool, message string)

// Analyzer returns the readiness of a live object.
type Analyzer func(live *unstructured.Unstructured) ready.Result

// Of returns the view of the reconciler with the given name.
func (v View) Of(reconciler string) View {
	v.Reconciler = reconciler
	return v
}

// NeedsBody reports whether the facts about the objects of a kind without a status are derived from their whole
// content: an analyzer reads it, or the API server may drop fields.
func (v View) NeedsBody(gk schema.GroupKind) bool {
	return v.Analyzers[gk] != nil || serverrules.MayDrop(gk)
}

// Hints returns the status hints in the reconciler's annotation of a live object. A watch does not have the manifest,
// so it can read the hints only from this annotation. Unreadable hints are ignored, because they are drift: another
// client changed the annotation, and a later pass repairs it.
func Hints(obj metav1.Object, reconciler string) ready.Hints {
	text, ok := obj.GetAnnotations()[reconciler+"/"+manifests.AnnotationStatusHint]
	if !ok {
		return ready.Hints{}
	}
	parsed, _ := settingtext.ParseStatusHints(text)
	return ready.Hints(parsed)
}

// hasCondition reports whether a live object has an annotation with a condition, readable or not.
func hasCondition(obj metav1.Object, reconciler string) bool {
	_, ok := obj.GetAnnotations()[reconciler+"/"+manifests.AnnotationReadyWhen]
	return ok
}

// conditionOf returns the condition in the reconciler's annotation of a live object. An unreadable condition is
// ignored, as unreadable hints are.
func conditionOf(obj metav1.Object, reconciler string) manifests.ReadyWhen {
	parsed, err := settingtext.ParseReadyWhen(obj.GetAnnotations()[reconciler+"/"+manifests.AnnotationReadyWhen])
	if err != nil {
		return manifests.ReadyWhen{}
	}
	return parsed
}

// Readiness returns the readiness of a live object: by kstatus or by the analyzer of its kind, then by its status
// hints, then by its condition.
func (v View) Readiness(ctx context.Context, obj *unstructured.Unstructured) ready.Result {
	r := v.byType(obj)
	if r.State != ready.Ready {
		return r
	}
	if !hasCondition(obj, v.Reconciler) {
		return r
	}
	end, ok := v.Allowance.take(obj, v.Reconciler)
	if !ok {
		return ready.Result{State: ready.Unread, Message: "the conditions of its namespace take too long in the watch"}
	}
	defer end()
	condition := conditionOf(obj, v.Reconciler)
	switch {
	case condition.Expression != nil:
		return v.byExpression(ctx, obj, manifests.AnnotationReadyWhen, condition.Expression)
	case v.Deferred[condition.Name]:
		return ready.Result{
			State: ready.InProgress, Deferred: condition.Name,
			Message: fmt.Sprintf("%s: go/%s was not evaluated yet", manifests.AnnotationReadyWhen, condition.Name),
		}
	case condition.Name != "" && v.Conditions[condition.Name] == nil:
		return ready.Result{
			State: ready.Unknown,
			Message: fmt.Sprintf("%s: the condition go/%s exists only in its operator",
				manifests.AnnotationReadyWhen, condition.Name),
		}
	case condition.Name != "":
		return ByCondition(obj, condition.Name, v.Conditions[condition.Name])
	}
	return r
}

// byType returns the readiness of an object without regard to its condition.
func (v View) byType(obj *unstructured.Unstructured) ready.Result {
	hints, gk := Hints(obj, v.Reconciler), obj.GroupVersionKind().GroupKind()
	analyze := v.Analyzers[gk]
	switch {
	case analyze == nil:
		return ready.Of(obj, hints)
	case obj.GetDeletionTimestamp() != nil:
		return ready.BeingDeleted(obj)
	}
	r := analyzed(obj, gk, analyze)
	if message := hints.Missing(obj); r.State == ready.Ready && message != "" {
		return ready.Result{State: ready.InProgress, Message: message}
	}
	return r
}

// analyzed calls an analyzer with a copy of the object. After a panic the readiness is unknown.
func analyzed(obj *unstructured.Unstructured, gk schema.GroupKind, analyze Analyzer) (r ready.Result) {
	p := authorcode.Run("the analyzer of "+gk.String(), func() { r = analyze(obj.DeepCopy()) })
	if p != nil {
		r = ready.Result{State: ready.Unknown, Message: panicText(obj, p)}
	}
	return r
}

// ByCondition calls a condition in Go with a copy of the object. After a panic the object is not ready.
func ByCondition(obj *unstructured.Unstructured, name string, holds Condition) ready.Result {
	prefix := manifests.AnnotationReadyWhen + ": go/" + name
	var ok bool
	var message string
	p := authorcode.Run(prefix, func() { ok, message = holds(obj.DeepCopy()) })
	switch {
	case p != nil:
		return ready.Result{State: ready.InProgress, Message: panicText(obj, p)}
	case ok:
		return ready.Result{State: ready.Ready}
	case message == "":
		return ready.Result{State: ready.InProgress, Message: prefix + " does not hold"}
	}
	return ready.Result{State: ready.InProgress, Message: prefix + ": " + message}
}

// panicText describes a panic in a message. It leaves out the value for a Secret, because the value may contain its
// data.
func panicText(obj *unstructured.Unstructured, p *authorcode.Panic) string {
	if isSecret(obj) {
		return p.Code + " panicked"
	}
	return p.Error()
}

// byExpression evaluates an expression over the object. The object is ready only if the value is true. The message
// contains the values that the expression read, or the error, but not for a Secret.
func (v View) byExpression(
	ctx context.Context,
	obj *unstructured.Unstructured,
	annotation string,
	condition *expression.Program,
) ready.Result {
	variables := map[string]any{"self": obj.Object}
	holds, err := condition.Bool(ctx, variables)
	if holds && err == nil {
		return ready.Result{State: ready.Ready}
	}
	if expression.IsInterrupted(err) && v.Allowance != nil {
		return ready.Result{State: ready.Unread, Message: "its condition takes too long in the watch"}
	}
	message := annotation + ": " + condition.Shortened()
	switch secret := isSecret(obj); {
	case expression.IsMissing(err):
		message += " has no value yet" + seen(secret, condition, variables)
	case err == nil:
		message += " is false" + seen(secret, condition, variables)
	case secret:
		message += " cannot be evaluated"
	default:
		message = fmt.Sprintf("%s: %v", annotation, err)
	}
	return ready.Result{State: ready.InProgress, Message: message}
}

// seen returns the values that an expression read, in parentheses.
func seen(secret bool, condition *expression.Program, variables map[string]any) string {
	if secret {
		return ""
	}
	if values := condition.Seen(variables); values != "" {
		return " (" + values + ")"
	}
	return ""
}

func isSecret(obj *unstructured.Unstructured) bool {
	return obj.GroupVersionKind().GroupKind() == schema.GroupKind{Kind: "Secret"}
}
