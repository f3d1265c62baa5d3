package execute

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/internal/apitext"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

const admission = "admissionregistration.k8s.io"

var (
	policies = schema.GroupVersionResource{Group: admission, Version: "v1", Resource: "validatingadmissionpolicies"}
	bindings = schema.GroupVersionResource{Group: admission, Version: "v1", Resource: "validatingadmissionpolicybindings"}
)

// guard carries out an action on a guard, as the identity that watches: it protects what belongs to others.
func (e *Executor) guard(ctx context.Context, a plan.Action) plan.Result {
	observed, act := &plan.Observed{Presence: plan.Absent}, e.tearDown
	if a.Verb == plan.VerbGuard {
		act = e.setUp
	}
	var err error
	if a.Verb == plan.VerbProbe {
		observed, err = e.probe(ctx, a)
	} else {
		err = act(ctx, a)
	}
	if err != nil {
		return plan.Result{Verb: a.Verb, Failure: Classify(err)}
	}
	return plan.Result{Verb: a.Verb, Observed: observed}
}

// setUp writes the policy and its binding. Both belong to the definitions, so that nothing is left of them when those are gone, whatever
// becomes of us.
func (e *Executor) setUp(ctx context.Context, a plan.Action) error {
	metadata := map[string]any{
		"name":   a.Key.Name,
		"labels": map[string]any{e.reconciler + "/" + manifests.LabelGuardOf: a.Owner},
	}
	var owners []any
	for _, d := range a.Definitions {
		owners = append(owners, map[string]any{
			"apiVersion": customResourceDefinitions.GroupVersion().String(), "kind": "CustomResourceDefinition",
			"name": d.Name, "uid": string(d.UID),
		})
	}
	metadata["ownerReferences"] = owners
	policy := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": policies.GroupVersion().String(), "kind": "ValidatingAdmissionPolicy", "metadata": metadata,
		"spec": map[string]any{
			"failurePolicy":    "Fail",
			"matchConstraints": map[string]any{"resourceRules": rulesFor(a)},
			"validations": []any{map[string]any{
				"expression": "false", "reason": string(metav1.StatusReasonForbidden),
				"message": "the definition of this type is about to be deleted by " + e.reconciler + "; create it once the type is defined again",
			}},
		},
	}}
	binding := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": bindings.GroupVersion().String(), "kind": "ValidatingAdmissionPolicyBinding", "metadata": metadata,
		"spec": map[string]any{"policyName": a.Key.Name, "validationActions": []any{"Deny"}},
	}}
	options := metav1.ApplyOptions{FieldManager: e.reconciler, Force: true}
	if _, err := e.watching.Resource(policies).Apply(ctx, a.Key.Name, policy, options); err != nil {
		return err
	}
	_, err := e.watching.Resource(bindings).Apply(ctx, a.Key.Name, binding, options)
	return err
}

// rulesFor matches the creation of instances, in every version, and that of the probe. The name of a definition is resource.group.
func rulesFor(a plan.Action) []any {
	resources := map[string][]any{}
	var groups []string
	for _, d := range a.Definitions {
		resource, group, _ := strings.Cut(d.Name, ".")
		if resources[group] == nil {
			groups = append(groups, group)
		}
		resources[group] = append(resources[group], resource)
	}
	rule := func(group string, resources []any) map[string]any {
		return map[string]any{"apiGroups": []any{group}, "apiVersions": []any{"*"}, "operations": []any{"CREATE"}, "resources": resources}
	}
	rules := make([]any, 0, len(groups)+1)
	for _, group := range groups {
		rules = append(rules, rule(group, resources[group]))
	}
	probe := rule(customResourceDefinitions.Group, []any{customResourceDefinitions.Resource})
	probe["resourceNames"] = []any{probeName(a)}
	return append(rules, probe)
}

// probeName names a definition that nobody has. It depends on what is guarded, so that a policy which guarded something else before does
// not pass for this one.
func probeName(a plan.Action) string {
	names := make([]string, 0, len(a.Definitions))
	for _, d := range a.Definitions {
		names = append(names, d.Name)
	}
	slices.Sort(names)
	sum := sha256.Sum256([]byte(strings.Join(names, ",")))
	return "probes." + hex.EncodeToString(sum[:8]) + "." + a.Key.Name
}

// probe asks for the creation of a definition, as a dry run: the same part of the API server decides on instances, with the same knowledge
// of policies. An instance would not do, for the schema, of which nothing is known here, is checked before the policy.
func (e *Executor) probe(ctx context.Context, a plan.Action) (*plan.Observed, error) {
	name := probeName(a)
	_, group, _ := strings.Cut(name, ".")
	probe := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": customResourceDefinitions.GroupVersion().String(), "kind": "CustomResourceDefinition",
		"metadata": map[string]any{
			"name": name, "annotations": map[string]any{"api-approved.kubernetes.io": "unapproved, never created"},
		},
		"spec": map[string]any{
			"group": group, "scope": "Cluster", "names": map[string]any{"kind": "Probe", "plural": "probes"},
			"versions": []any{map[string]any{
				"name": "v1", "served": false, "storage": true, "schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}},
			}},
		},
	}}
	_, err := e.watching.Resource(customResourceDefinitions).Create(ctx, probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	switch {
	case err == nil:
		return &plan.Observed{Presence: plan.Absent}, nil
	case apitext.RefusedByPolicy(err, a.Key.Name):
		return &plan.Observed{Presence: plan.Present}, nil
	}
	return nil, err
}

// tearDown removes the guard. Whoever may not delete one could not set it up.
func (e *Executor) tearDown(ctx context.Context, a plan.Action) error {
	for _, resource := range []schema.GroupVersionResource{bindings, policies} {
		err := e.watching.Resource(resource).Delete(ctx, a.Key.Name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) {
			return err
		}
	}
	return nil
}
