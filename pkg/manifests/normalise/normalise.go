package normalise

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/fairlead-io/fairlead/internal/builtintypes"
	"github.com/fairlead-io/fairlead/internal/depgraph"
	"github.com/fairlead-io/fairlead/internal/digests"
	"github.com/fairlead-io/fairlead/internal/expression"
	"github.com/fairlead-io/fairlead/internal/objectmeta"
	"github.com/fairlead-io/fairlead/internal/settingtext"
	"github.com/fairlead-io/fairlead/internal/typeset"
	"github.com/fairlead-io/fairlead/pkg/internal/binding"
	"github.com/fairlead-io/fairlead/pkg/internal/ordering"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Options configures Normalise for a component and its target.
type Options struct {
	// Reconciler is the name of the reconciler, which is the prefix of settings, labels and annotations.
	Reconciler string
	// Namespace is the namespace for namespaced objects whose manifests set no namespace.
	Namespace string
	// Owner is written to the owner-id label and annotation. RemoteTarget is set if the objects are in another cluster
	// than the owner, so that no object is the namespace of the owner, which is released instead of deleted.
	Owner        manifests.Owner
	RemoteTarget bool
	// ScopeOf returns the scope of a type in the target, or ScopeUnknown if the type is not served.
	ScopeOf func(gvk schema.GroupVersionKind) (manifests.Scope, error)
	// Managed are additional types whose instances are applied last, although no manifest defines them.
	Managed []manifests.ManagedType
	// StatusIsSubresource reports whether the status of a type in the target is a subresource, which is ignored by
	// writes to the object. It is called only for manifests with a status whose type is neither built in nor defined in
	// the set. If the function is nil, the status of every type counts as a subresource.
	StatusIsSubresource func(gvk schema.GroupVersionKind) (bool, error)
	// Ignore are rules of the reconciler's options and of the component, in addition to the annotations of manifests.
	Ignore []IgnoreRule
	// Conditions are the names of the conditions of readiness in Go that ready-when may name. If Conditions is nil, every
	// name is accepted.
	Conditions []string
	// CheckExternal checks the manifest of an external against its kind; nil accepts all kinds and specs. partial is set
	// if the spec has null in the place of texts whose holes are not filled yet.
	CheckExternal func(body *unstructured.Unstructured, partial bool) error
}

// ownNamespace returns the namespace of the owner, empty if it is in another cluster than the objects.
func (o Options) ownNamespace() string {
	if o.RemoteTarget {
		return ""
	}
	return o.Owner.Namespace
}

// Manifests converts generated manifests to the objects that are applied. It validates each manifest, sets its scope
// and namespace, reads its settings, merges stringData, removes fields that only the API server sets, adds the owner,
// computes the digest, and sorts the set in apply order. An object with several orders is in the set once for each of
// them; see Object.Occurrence. Objects that depend on other objects come last, each after its dependencies; see
// GraphSettings.Edges. It does not change its input. The returned error joins all errors, each with the key of its
// object.
func Manifests(generated []*unstructured.Unstructured, o Options) ([]manifests.Object, error) {
	bodies, errs := copyAll(generated)
	copies := &copyBudget{}
	bodies, err := inPhases(o.Reconciler, bodies, copies)
	errs = append(errs, err)
	bodies, err = inOccurrences(o.Reconciler, bodies, copies)
	errs = append(errs, err)
	n := normaliser{
		Options:     o,
		defined:     map[schema.GroupKind]manifests.Scope{},
		statuses:    map[schema.GroupVersionKind]bool{},
		managed:     slices.Clone(o.Managed),
		expressions: expression.NewBudget(),
	}
	for _, body := range bodies {
		for _, t := range typeset.DefinedBy(body) {
			n.managed = append(n.managed, t)
			n.defined[t.GroupKind] = definedScope(body)
			maps.Copy(n.statuses, definedStatuses(body, t.GroupKind))
		}
	}
	n.types = typeset.New(n.managed)
	objects := make([]manifests.Object, 0, len(bodies))
	var refused depgraph.Refused
	for i, body := range bodies {
		obj, err := n.normalise(body)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", describe(body, i), err))
			refused.Add(keyOf(body), body.GetAnnotations()[o.Reconciler+"/"+manifests.AnnotationDependsOnGroup])
			continue
		}
		objects = append(objects, obj)
	}
	slices.SortFunc(objects, compareApply)
	errs = append(errs, n.numberOccurrences(objects)...)
	errs = append(errs, ordering.Conflicts(objects, o.ownNamespace())...)
	used, problems := binding.Check(n.Reconciler, objects, n.expressions)
	errs = append(errs, problems...)
	errs = append(errs, n.addExporters(objects, used.InHoles)...)
	objects, problems = depgraph.Resolve(objects, refused)
	errs = append(errs, problems...)
	errs = append(errs, depgraph.CheckFlow(objects, used.All)...)
	return objects, errors.Join(errs...)
}

// copyAll copies manifests through JSON, because objects that are built in Go may hold values of any type.
func copyAll(generated []*unstructured.Unstructured) ([]*unstructured.Unstructured, []error) {
	bodies := make([]*unstructured.Unstructured, 0, len(generated))
	var errs []error
	for i, m := range generated {
		if m == nil {
			errs = append(errs, fmt.Errorf("manifest %d is nil", i+1))
			continue
		}
		body := &unstructured.Unstructured{}
		data, err := json.Marshal(m.Object)
		if err == nil {
			err = json.Unmarshal(data, &body.Object)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: the manifest cannot be written as JSON: %w", describe(m, i), err))
			continue
		}
		bodies = append(bodies, body)
	}
	return bodies, errs
}

// compareApply compares objects by apply order: wave, stage and key.
func compareApply(a, b manifests.Object) int {
	return cmp.Or(
		cmp.Compare(a.Settings.Order, b.Settings.Order),
		cmp.Compare(a.Stage, b.Stage),
		a.Key.Compare(b.Key),
	)
}

type normaliser struct {
	Options
	defined map[schema.GroupKind]manifests.Scope
	// statuses holds, for the types that the set defines, whether their status is a subresource.
	statuses map[schema.GroupVersionKind]bool
	managed  []manifests.ManagedType
	types    typeset.Set
	// expressions bounds the expressions of the set.
	expressions *expression.Budget
}

// normalise normalises the body in place.
func (n normaliser) normalise(body *unstructured.Unstructured) (manifests.Object, error) {
	if err := errors.Join(objectmeta.Check(body.Object)...); err != nil {
		return manifests.Object{}, err
	}
	if err := n.spendExpressions(body.GetAnnotations()); err != nil {
		return manifests.Object{}, err
	}
	settings, err := settingtext.Parse(n.Reconciler, body.GetAnnotations())
	if err != nil {
		return manifests.Object{}, err
	}
	gvk := body.GroupVersionKind()
	if err := errors.Join(
		cmp.Or(n.checkExternal(body, settings), checkObservedManifest(settings, body.Object)),
		checkHints(settings.StatusHints(), gvk.GroupKind(), n.Reconciler),
		settingtext.CheckConditionName(settings.ReadyWhen(), n.Reconciler, n.Conditions),
	); err != nil {
		return manifests.Object{}, err
	}
	scope, err := n.scope(gvk)
	if err != nil {
		return manifests.Object{}, err
	}
	if err := fixNamespace(body, scope, n.Namespace); err != nil {
		return manifests.Object{}, err
	}
	if err := n.clean(body, scope); err != nil {
		return manifests.Object{}, err
	}
	ignored, err := n.ignore(body, settings)
	if err != nil {
		return manifests.Object{}, err
	}
	settings = settings.WithIgnored(ignored)
	digest, err := digests.Manifest(body.Object, n.Reconciler)
	if err != nil {
		return manifests.Object{}, err
	}
	emptyLabels := hasEmptyLabels(body)
	if !settings.IsObserved() {
		mark(n.Owner, body, n.Reconciler, digest)
	}
	if err := objectmeta.CheckAnnotations(body.GetAnnotations()); err != nil {
		return manifests.Object{}, err
	}
	return manifests.Object{
		Key:         manifests.Key{Group: gvk.Group, Kind: gvk.Kind, Namespace: body.GetNamespace(), Name: body.GetName()},
		Version:     gvk.Version,
		Scope:       scope,
		Settings:    settings,
		Stage:       n.types.StageOf(gvk.GroupKind()),
		Types:       typeset.DefinedBy(body),
		Ephemeral:   builtintypes.IsEphemeral(body) || doesWork(body, settings),
		EmptyLabels: emptyLabels,
		Immutable:   builtintypes.HashImmutable(body),
		Digest:      digest,
		Body:        body,
	}, nil
}

// hasEmptyLabels reports whether a manifest contains an empty map of labels.
func hasEmptyLabels(body *unstructured.Unstructured) bool {
	field, _, _ := unstructured.NestedFieldNoCopy(body.Object, "metadata", "labels")
	labels, isMap := field.(map[string]any)
	return isMap && len(labels) == 0
}

// scope returns the scope of a type. If the set contains the definition of the type, that definition takes precedence
// over the definition in the cluster, because it is applied before the objects of its type.
func (n normaliser) scope(gvk schema.GroupVersionKind) (manifests.Scope, error) {
	if gvk.Group == manifests.ExternalGroup {
		return manifests.ScopeCluster, nil // An external has no namespace, and no API server knows its type.
	}
	if s, ok := n.defined[gvk.GroupKind()]; ok && s != manifests.ScopeUnknown {
		return s, nil
	}
	return n.ScopeOf(gvk)
}

// expressionAnnotations are the annotations whose values are expressions.
var expressionAnnotations = []string{
	manifests.AnnotationIncludeWhen, manifests.AnnotationActiveWhen, manifests.AnnotationReadyWhen, manifests.AnnotationGoneWhen,
	manifests.AnnotationExport,
}

// spendExpressions returns an error if the expressions in the annotations of a manifest exceed the budget.
func (n normaliser) spendExpressions(annotations map[string]string) error {
	for _, name := range expressionAnnotations {
		if err := n.expressions.Spend(annotations[n.Reconciler+"/"+name]); err != nil {
			return err
		}
	}
	return nil
}

// checkHints returns an error if an object has hints and its type has no status. With the hints, such an object would
// never become ready.
func checkHints(h manifests.StatusHints, gk schema.GroupKind, reconciler string) error {
	if h.None() || builtintypes.HasStatus(gk) {
		return nil
	}
	return fmt.Errorf(
		"annotation %s/%s: a %s has no status to read; remove the hint",
		reconciler,
		manifests.AnnotationStatusHint,
		gk.Kind,
	)
}
