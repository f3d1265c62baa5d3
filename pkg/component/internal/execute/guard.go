package execute

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/fairlead-io/fairlead/internal/apitext"
	"github.com/fairlead-io/fairlead/internal/marks"
	"github.com/fairlead-io/fairlead/pkg/component/internal/apierror"
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

	mu sync.Mutex
	// uids are the UIDs of the policies and bindings that this process wrote or listed.
	uids map[guardObject]types.UID
}

// guardObject identifies a policy or a binding.
type guardObject struct {
	resource schema.GroupVersionResource
	name     string
}

// Guard is a guard that exists in a cluster.
type Guard struct {
	Name, OwnerID string
	// Owner is the component that set up the guard. The zero Owner means that a previous version wrote the guard.
	Owner manifests.Owner
	// Created is the time at which the policy or the binding was created, whichever is later.
	Created time.Time
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
		return plan.Result{Verb: a.Verb, Failure: apierror.Classify(err)}
	}
	return plan.Result{Verb: a.Verb, Observed: observed}
}

// install writes the policy and its binding. The owner references of policy and binding name the definitions. So
// garbage collection deletes policy and binding together with the definitions, even if the operator no longer runs.
func (g *admissionGuard) install(ctx context.Context, a plan.Action) error {
	metadata := g.metadata(a)
	policy := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": policies.GroupVersion().String(), "kind": "ValidatingAdmissionPolicy", "metadata": metadata,
		"spec": map[string]any{
			"failurePolicy":    "Fail",
			"matchConstraints": map[string]any{"resourceRules": rulesFor(a)},
			"validations": []any{map[string]any{
				"expression": "false", "reason": string(metav1.StatusReasonForbidden),
				"message": "the definition of this type is about to be deleted by " + g.reconciler + " for " +
					componentOf(a) + "; create the object after the type is defined again. " + noteOf(a),
			}},
		},
	}}
	binding := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": bindings.GroupVersion().String(), "kind": "ValidatingAdmissionPolicyBinding", "metadata": metadata,
		"spec": map[string]any{"policyName": a.Key.Name, "validationActions": []any{"Deny"}},
	}}
	if err := g.apply(ctx, policies, policy); err != nil {
		return err
	}
	return g.apply(ctx, bindings, binding)
}

func (g *admissionGuard) apply(
	ctx context.Context, resource schema.GroupVersionResource, obj *unstructured.Unstructured,
) error {
	options := metav1.ApplyOptions{FieldManager: g.reconciler, Force: true}
	written, err := g.client.Resource(resource).Apply(ctx, obj.GetName(), obj, options)
	if err == nil {
		g.keep(guardObject{resource, obj.GetName()}, written.GetUID())
	}
	return err
}

// metadata returns the metadata of policy and binding.
func (g *admissionGuard) metadata(a plan.Action) map[string]any {
	references := make([]any, 0, len(a.Definitions))
	for _, d := range a.Definitions {
		references = append(references, map[string]any{
			"apiVersion": customResourceDefinitions.GroupVersion().String(), "kind": "CustomResourceDefinition",
			"name": d.Name, "uid": string(d.UID),
		})
	}
	return map[string]any{
		"name":   a.Key.Name,
		"labels": map[string]any{g.reconciler + "/" + marks.LabelGuardOf: a.Owner},
		"annotations": map[string]any{
			g.reconciler + "/" + marks.AnnotationGuardOf:   a.OwnerName,
			g.reconciler + "/" + marks.AnnotationGuardNote: noteOf(a),
		},
		"ownerReferences": references,
	}
}

// componentOf returns a text that names the component of an action on a guard.
func componentOf(a plan.Action) string {
	owner, ok := manifests.ParseOwner(a.OwnerName)
	if !ok {
		return "a component"
	}
	return owner.Component().String()
}

// noteOf returns a text that says when a guard can be removed, and how.
func noteOf(a plan.Action) string {
	return "This guard lasts for seconds, until the definition is deleted or its deletion is refused. " +
		"If it lasts for minutes, an administrator can remove it. Instances that are created after that can be lost with " +
		"the definition: kubectl delete validatingadmissionpolicybindings,validatingadmissionpolicies " + a.Key.Name
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
		err := g.removeObject(ctx, guardObject{resource, a.Key.Name})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) {
			return err
		}
	}
	return nil
}

// removeObject deletes a policy or a binding, with its UID as a precondition. If this process does not know the UID,
// the object is read, and deleted only if it is a guard. The roles of previous versions do not include the right to
// read it; then the name decides.
func (g *admissionGuard) removeObject(ctx context.Context, object guardObject) error {
	uid, err := g.uidOf(ctx, object)
	var options metav1.DeleteOptions
	switch {
	case apierrors.IsForbidden(err):
	case err != nil || uid == "":
		return err
	default:
		options.Preconditions = metav1.NewUIDPreconditions(string(uid))
	}
	err = g.client.Resource(object.resource).Delete(ctx, object.name, options)
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		// After a conflict, the next attempt reads the object.
		g.keep(object, "")
	}
	return err
}

// uidOf returns the UID of a policy or a binding. The UID is empty if there is no such object, or if it is not a guard.
func (g *admissionGuard) uidOf(ctx context.Context, object guardObject) (types.UID, error) {
	g.mu.Lock()
	uid := g.uids[object]
	g.mu.Unlock()
	if uid != "" {
		return uid, nil
	}
	obj, err := g.client.Resource(object.resource).Get(ctx, object.name, metav1.GetOptions{})
	if err != nil || !g.isGuard(obj) {
		return "", err
	}
	return obj.GetUID(), nil
}

// keep stores the UID of a policy or a binding. An empty UID removes the stored UID.
func (g *admissionGuard) keep(object guardObject, uid types.UID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if uid == "" {
		delete(g.uids, object)
		return
	}
	if g.uids == nil {
		g.uids = map[guardObject]types.UID{}
	}
	g.uids[object] = uid
}

// isGuard reports whether a policy or a binding is a guard of the reconciler: its name belongs to the owner in its
// label.
func (g *admissionGuard) isGuard(obj *unstructured.Unstructured) bool {
	owner := obj.GetLabels()[g.reconciler+"/"+marks.LabelGuardOf]
	return owner != "" && obj.GetName() == plan.GuardName(g.reconciler, owner)
}

// list returns the guards of the reconciler that exist, sorted by name. A guard may have lost its policy or its
// binding.
func (g *admissionGuard) list(ctx context.Context) ([]Guard, error) {
	found := map[string]Guard{}
	selector := metav1.ListOptions{LabelSelector: g.reconciler + "/" + marks.LabelGuardOf}
	for _, resource := range []schema.GroupVersionResource{bindings, policies} {
		list, err := g.client.Resource(resource).List(ctx, selector)
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", resource.Resource, err)
		}
		for i := range list.Items {
			obj := &list.Items[i]
			if !g.isGuard(obj) {
				continue
			}
			g.keep(guardObject{resource, obj.GetName()}, obj.GetUID())
			guard := Guard{
				Name: obj.GetName(), OwnerID: obj.GetLabels()[g.reconciler+"/"+marks.LabelGuardOf],
				Created: obj.GetCreationTimestamp().Time,
			}
			owner, ok := manifests.ParseOwner(obj.GetAnnotations()[g.reconciler+"/"+marks.AnnotationGuardOf])
			if ok && owner.ID() == guard.OwnerID {
				guard.Owner = owner
			}
			if previous := found[guard.Name]; previous.Created.After(guard.Created) {
				guard.Created = previous.Created
			}
			found[guard.Name] = guard
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b Guard) int { return strings.Compare(a.Name, b.Name) }), nil
}
