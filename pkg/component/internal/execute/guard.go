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
	"k8s.io/client-go/dynamic"

	"github.com/fairlead-io/fairlead/internal/apitext"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

const admission = "admissionregistration.k8s.io"

var (
	policies = schema.GroupVersionResource{Group: admission, Version: "v1", Resource: "validatingadmissionpolicies"}
	bindings = schema.GroupVersionResource{Group: admission, Version: "v1", Resource: "validatingadmissionpolicybindings"}
)

// admissionGuard writes the guard of a component: a ValidatingAdmissionPolicy with a binding. The guard refuses new
// instances of types whose definitions are about to be deleted, because these instances would be deleted with the
// definition. The operator writes policy and binding with its own identity, not as the component's identity, because
// the guard protects objects of others.
type admissionGuard struct {
	reconciler string
	client     dynamic.Interface
}

// run carries out an action on a guard.
func (g *admissionGuard) run(ctx context.Context, a plan.Action) plan.Result {
	observed := &plan.Observed{Presence: plan.Absent}
	var err error
	install, probe := a.Verb == plan.VerbGuard, a.Verb == plan.VerbProbe
	switch {
	case install:
		err = g.install(ctx, a)
	case probe:
		observed, err = g.probe(ctx, a)
	default:
		err = g.remove(ctx, a)
	}
	if err != nil {
		return plan.Result{Verb: a.Verb, Failure: Classify(err)}
	}
	return plan.Result{Verb: a.Verb, Observed: observed}
}

// install writes the policy and its binding. The owner references of policy and binding name the definitions. So
// garbage collection deletes policy and binding together with the definitions, even if the operator is gone.
func (g *admissionGuard) install(ctx context.Context, a plan.Action) error {
	metadata := map[string]any{
		"name":   a.Key.Name,
		"labels": map[string]any{g.reconciler + "/" + manifests.LabelGuardOf: a.Owner},
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
				"message": "the definition of this type is about to be deleted by " + g.reconciler +
					"; create the object after the type is defined again",
			}},
		},
	}}
	binding := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": bindings.GroupVersion().String(), "kind": "ValidatingAdmissionPolicyBinding", "metadata": metadata,
		"spec": map[string]any{"policyName": a.Key.Name, "validationActions": []any{"Deny"}},
	}}
	options := metav1.ApplyOptions{FieldManager: g.reconciler, Force: true}
	if _, err := g.client.Resource(policies).Apply(ctx, a.Key.Name, policy, options); err != nil {
		return err
	}
	_, err := g.client.Resource(bindings).Apply(ctx, a.Key.Name, binding, options)
	return err
}

// rulesFor returns the rules of the policy. The rules match the creation of instances in every version, and the
// creation of the probe. The name of a definition has the form resource.group.
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
		return map[string]any{
			"apiGroups": []any{group}, "apiVersions": []any{"*"}, "operations": []any{"CREATE"}, "resources": resources,
		}
	}
	rules := make([]any, 0, len(groups)+1)
	for _, group := range groups {
		rules = append(rules, rule(group, resources[group]))
	}
	probe := rule(customResourceDefinitions.Group, []any{customResourceDefinitions.Resource})
	probe["resourceNames"] = []any{probeName(a)}
	return append(rules, probe)
}

// probeName returns the name of the probe, a definition that does not exist. The name depends on the guarded
// definitions. So an earlier policy with the same name and with other definitions does not refuse the probe.
func probeName(a plan.Action) string {
	names := make([]string, 0, len(a.Definitions))
	for _, d := range a.Definitions {
		names = append(names, d.Name)
	}
	slices.Sort(names)
	sum := sha256.Sum256([]byte(strings.Join(names, ",")))
	return "probes." + hex.EncodeToString(sum[:8]) + "." + a.Key.Name
}

// probe creates a definition as a dry run. probe returns Present if the policy refuses the create. Then the policy also
// refuses instances, because the same API server checks them against the same policies. The probe cannot be an
// instance, because the API server validates an instance against its schema before it evaluates policies, and the
// operator does not know the schema.
func (g *admissionGuard) probe(ctx context.Context, a plan.Action) (*plan.Observed, error) {
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
				"name": "v1", "served": false, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}},
			}},
		},
	}}
	options := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	_, err := g.client.Resource(customResourceDefinitions).Create(ctx, probe, options)
	switch {
	case err == nil:
		return &plan.Observed{Presence: plan.Absent}, nil
	case apitext.RefusedByPolicy(err, a.Key.Name):
		return &plan.Observed{Presence: plan.Present}, nil
	}
	return nil, err
}

// remove deletes the guard. remove ignores missing rights, because an operator without rights on admission policies
// cannot have installed the guard.
func (g *admissionGuard) remove(ctx context.Context, a plan.Action) error {
	for _, resource := range []schema.GroupVersionResource{bindings, policies} {
		err := g.client.Resource(resource).Delete(ctx, a.Key.Name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) {
			return err
		}
	}
	return nil
}
