package manifests

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/fairlead-io/fairlead/internal/builtintypes"
	"github.com/fairlead-io/fairlead/internal/digests"
	"github.com/fairlead-io/fairlead/internal/expression"
)

// Scope is the scope of a type.
type Scope string

// The scopes. ScopeUnknown is the scope of a type that neither the cluster serves nor a dependent defines.
const (
	ScopeUnknown    Scope = "Unknown"
	ScopeNamespaced Scope = "Namespaced"
	ScopeCluster    Scope = "Cluster"
)

// NormaliseOptions configures Normalise for a component and its target.
type NormaliseOptions struct {
	// Reconciler is the name of the reconciler, which is the prefix of settings, labels and annotations.
	Reconciler string
	// Namespace is the namespace for namespaced objects whose manifests set no namespace.
	Namespace string
	// Owner is written to the owner-id label and annotation. RemoteTarget is set if the objects are in another cluster
	// than the owner, so that no object is the namespace of the owner, which is released instead of deleted.
	Owner        Owner
	RemoteTarget bool
	// ScopeOf returns the scope of a type in the target, or ScopeUnknown if the type is not served.
	ScopeOf func(gvk schema.GroupVersionKind) (Scope, error)
	// Managed are additional types whose instances are applied last, although no manifest defines them.
	Managed []ManagedType
	// StatusIsSubresource reports whether the status of a type in the target is a subresource, which is ignored by
	// writes to the object. It is called only for manifests with a status whose type is neither built in nor defined in
	// the set. If the function is nil, the status of every type counts as a subresource.
	StatusIsSubresource func(gvk schema.GroupVersionKind) (bool, error)
	// Ignore are rules of the reconciler's options and of the component, in addition to the annotations of manifests.
	Ignore []IgnoreRule
	// Conditions are the names of the conditions in Go that ready-when may name. If Conditions is nil, every name is
	// accepted.
	Conditions []string
	// CheckExternal checks the manifest of an external against its kind; nil accepts all kinds and specs. partial is set
	// if the spec has null in the place of texts whose holes are not filled yet.
	CheckExternal func(body *unstructured.Unstructured, partial bool) error
}

// ownNamespace returns the namespace of the owner, empty if it is in another cluster than the objects.
func (o NormaliseOptions) ownNamespace() string {
	if o.RemoteTarget {
		return ""
	}
	return o.Owner.Namespace
}

// Normalise converts generated manifests to the objects that are applied. It validates each manifest, sets its scope
// and namespace, reads its settings, merges stringData, removes fields that only the API server sets, adds the owner,
// computes the digest, and sorts the set in apply order. An object with several orders is in the set once for each of
// them; see Object.Occurrence. Objects that depend on other objects come last, each after its dependencies; see
// GraphSettings.Edges. It does not change its input. The returned error joins all errors, each with the key of its
// object.
func Normalise(generated []*unstructured.Unstructured, o NormaliseOptions) ([]Object, error) {
	bodies, errs := copyAll(generated)
	copies := &copyBudget{}
	bodies, err := inPhases(o.Reconciler, bodies, copies)
	errs = append(errs, err)
	bodies, err = inOccurrences(o.Reconciler, bodies, copies)
	errs = append(errs, err)
	n := normaliser{
		NormaliseOptions: o,
		defined:          map[schema.GroupKind]Scope{},
		statuses:         map[schema.GroupVersionKind]bool{},
		managed:          slices.Clone(o.Managed),
		expressions:      expression.NewBudget(),
	}
	for _, body := range bodies {
		for _, t := range ManagedTypes(body) {
			n.managed = append(n.managed, t)
			n.defined[t.GroupKind] = definedScope(body)
			maps.Copy(n.statuses, definedStatuses(body, t.GroupKind))
		}
	}
	n.types = NewTypeSet(n.managed)
	objects := make([]Object, 0, len(bodies))
	refused := refusals{keys: map[Key]bool{}, groups: map[string]bool{}}
	for i, body := range bodies {
		obj, err := n.normalise(body)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", describe(body, i), err))
			refused.keys[anyNamespace(keyOf(body))] = true
			refused.groups[body.GetAnnotations()[o.Reconciler+"/"+AnnotationDependsOnGroup]] = true
			continue
		}
		objects = append(objects, obj)
	}
	slices.SortFunc(objects, compareApply)
	errs = append(errs, n.numberOccurrences(objects)...)
	errs = append(errs, findOrderConflicts(objects, o.ownNamespace())...)
	used, problems := n.checkBindings(objects)
	errs = append(errs, problems...)
	errs = append(errs, n.addExporters(objects, used.inHoles)...)
	objects, problems = resolveGraph(objects, refused)
	errs = append(errs, problems...)
	errs = append(errs, checkFlow(objects, used.all)...)
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
func compareApply(a, b Object) int {
	return cmp.Or(
		cmp.Compare(a.Settings.Order, b.Settings.Order),
		cmp.Compare(a.Stage, b.Stage),
		a.Key.Compare(b.Key),
	)
}

func describe(m *unstructured.Unstructured, index int) string {
	if m.GetKind() == "" || m.GetName() == "" {
		return fmt.Sprintf("manifest %d (kind %q, name %q)", index+1, m.GetKind(), m.GetName())
	}
	return keyOf(m).String()
}

// keyOf returns the key of a manifest.
func keyOf(m *unstructured.Unstructured) Key {
	gk := m.GroupVersionKind().GroupKind()
	return Key{Group: gk.Group, Kind: gk.Kind, Namespace: m.GetNamespace(), Name: m.GetName()}
}

type normaliser struct {
	NormaliseOptions
	defined map[schema.GroupKind]Scope
	// statuses holds, for the types that the set defines, whether their status is a subresource.
	statuses map[schema.GroupVersionKind]bool
	managed  []ManagedType
	types    TypeSet
	// expressions bounds the expressions of the set.
	expressions *expression.Budget
}

// normalise normalises the body in place.
func (n normaliser) normalise(body *unstructured.Unstructured) (Object, error) {
	if err := errors.Join(checkManifest(body.Object)...); err != nil {
		return Object{}, err
	}
	if err := n.spendExpressions(body.GetAnnotations()); err != nil {
		return Object{}, err
	}
	settings, err := ParseSettings(n.Reconciler, body.GetAnnotations())
	if err != nil {
		return Object{}, err
	}
	gvk := body.GroupVersionKind()
	if err := errors.Join(
		cmp.Or(n.checkExternal(body, settings), checkObservedManifest(settings, body.Object)),
		checkHints(settings.rare().Hints, gvk.GroupKind(), n.Reconciler),
		n.checkCondition(settings.rare().ReadyWhen),
	); err != nil {
		return Object{}, err
	}
	scope, err := n.scope(gvk)
	if err != nil {
		return Object{}, err
	}
	if err := fixNamespace(body, scope, n.Namespace); err != nil {
		return Object{}, err
	}
	if err := n.clean(body, scope); err != nil {
		return Object{}, err
	}
	rare := *settings.rare()
	if rare.Ignore, err = n.ignore(body, settings); err != nil {
		return Object{}, err
	}
	settings.setRare(rare)
	digest, err := digests.Manifest(body.Object, n.Reconciler)
	if err != nil {
		return Object{}, err
	}
	if !settings.IsObserved() {
		n.Owner.mark(body, n.Reconciler, digest)
	}
	if err := checkAnnotationSize(body.GetAnnotations()); err != nil {
		return Object{}, err
	}
	return Object{
		Key:       Key{Group: gvk.Group, Kind: gvk.Kind, Namespace: body.GetNamespace(), Name: body.GetName()},
		Version:   gvk.Version,
		Scope:     scope,
		Settings:  settings,
		Stage:     n.types.StageOf(gvk.GroupKind()),
		Types:     ManagedTypes(body),
		Ephemeral: builtintypes.IsEphemeral(body) || doesWork(body, settings),
		Immutable: builtintypes.HashImmutable(body),
		Digest:    digest,
		Body:      body,
	}, nil
}

// scope returns the scope of a type. If the set contains the definition of the type, that definition takes precedence
// over the definition in the cluster, because it is applied before the objects of its type.
func (n normaliser) scope(gvk schema.GroupVersionKind) (Scope, error) {
	if gvk.Group == ExternalGroup {
		return ScopeCluster, nil // An external has no namespace, and no API server knows its type.
	}
	if s, ok := n.defined[gvk.GroupKind()]; ok && s != ScopeUnknown {
		return s, nil
	}
	return n.ScopeOf(gvk)
}

// ToUnstructured converts a generated object, typed or unstructured, to a manifest. gvkOf returns the type of a typed
// object without apiVersion and kind, usually from the scheme. Unstructured objects are returned unchanged, so that
// fields unknown to Go types are kept.
func ToUnstructured(
	obj runtime.Object,
	gvkOf func(runtime.Object) (schema.GroupVersionKind, error),
) (*unstructured.Unstructured, error) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return u, nil
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{Object: content}
	if u.GetKind() == "" || u.GetAPIVersion() == "" {
		gvk, err := gvkOf(obj)
		if err != nil {
			return nil, err
		}
		u.SetGroupVersionKind(gvk)
	}
	return u, nil
}

// expressionAnnotations are the annotations whose values are expressions.
var expressionAnnotations = []string{
	AnnotationIncludeWhen, AnnotationActiveWhen, AnnotationReadyWhen, AnnotationGoneWhen,
	AnnotationExport,
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
