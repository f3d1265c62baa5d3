package rbac

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/egress"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/notes"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/publish"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/render"
	"github.com/fairlead-io/fairlead/internal/operator"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// OfFolder renders a component from a folder, without a cluster, and returns its requirements. It calls warn with
// assumptions that a person must check.
func OfFolder(ctx context.Context, req render.Request, warn func(error)) (Requirements, error) {
	recorder := &Recorder{}
	req.Target = recorder
	objects, err := render.Dependents(ctx, req)
	return Requirements{
		Namespace: req.Namespace, Policies: operator.Policies, Objects: objects, Lookups: recorder.Asked(),
		References: []metav1alpha1.Reference{anySource},
		Resource:   Resources(objects, nil, warnOfGuess(warn)),
	}, err
}

// OfComponent renders a component of the ready-made operator that exists in the cluster, with the rights that gate
// grants, and returns its requirements.
func OfComponent(
	ctx context.Context, gate egress.Gate, about notes.Discovery, component *v1alpha1.Component, warn func(error),
) (Requirements, error) {
	access, err := gate.Open(ctx, component, egress.Use{Renders: true})
	if err != nil {
		return Requirements{}, err
	}
	reader := notes.Reader{About: about, Credentials: access.CallFunctions}
	if reader.Client, err = gate.Client(access); err != nil {
		return Requirements{}, err
	}
	req, err := reader.Request(ctx, component)
	if err != nil {
		return Requirements{}, err
	}
	recorder, mapper := &Recorder{Answers: req.Target}, gate.Cluster.RESTMapper()
	req.Target = recorder
	objects, err := render.Live(ctx, req, mapper, access.CallFunctions)
	return Requirements{
		Namespace: component.Namespace, Policies: component.Policies().Or(operator.Policies),
		Objects: objects, Lookups: recorder.Asked(), References: referencesOf(component),
		Resource: Resources(objects, mapper, warnOfGuess(warn)),
		Managed:  managedTypes(component, warn),
	}, err
}

// anySource is the reference to all ConfigMaps that fairlead apply creates. It has no name, because the name of such a
// ConfigMap depends on its content.
var anySource = metav1alpha1.Reference{Kind: metav1alpha1.ConfigMapReference}

// referencesOf returns the references of the component now and after the next fairlead apply.
func referencesOf(component *v1alpha1.Component) []metav1alpha1.Reference {
	references := component.References()
	if k := component.Spec.KubeConfig; k != nil {
		references = append(references, metav1alpha1.Reference{Kind: metav1alpha1.SecretReference, Name: k.SecretRef.Name})
	}
	var sources []string
	if source := component.Spec.Source.ConfigMap; source != nil {
		sources = []string{source.Name}
	}
	if parts := component.Spec.Source.ConfigMaps; parts != nil {
		sources = parts.Names
	}
	published := func(ref metav1alpha1.Reference) bool {
		return ref.Kind == metav1alpha1.ConfigMapReference && slices.Contains(sources, ref.Name) &&
			publish.Names(component.Name, ref.Name)
	}
	if !slices.ContainsFunc(references, published) {
		return references
	}
	return append(slices.DeleteFunc(references, published), anySource)
}

// managedTypes returns the additional managed types of a component that can be expressed in a role. It calls warn for
// the others.
func managedTypes(component *v1alpha1.Component, warn func(error)) []manifests.ManagedType {
	var types []manifests.ManagedType
	for i, pattern := range component.AdditionalManagedTypes() {
		t, err := manifests.NewManagedType(pattern.Group, pattern.Kind)
		switch {
		case err != nil:
			warn(fmt.Errorf("spec.additionalManagedTypes[%d]: %w", i, err))
		case strings.HasPrefix(t.Group, "*"):
			warn(fmt.Errorf("spec.additionalManagedTypes[%d]: a role cannot express the group pattern %s; "+
				"grant list and watch on these types yourself to the account that watches", i, t.Group))
		default:
			types = append(types, t)
		}
	}
	return types
}

// warnOfGuess returns a function that warns of a type whose resource was guessed from its kind.
func warnOfGuess(warn func(error)) func(schema.GroupVersionKind) {
	return func(gvk schema.GroupVersionKind) {
		plural, _ := meta.UnsafeGuessKindToResource(gvk)
		warn(fmt.Errorf("the resource of %s is guessed as %q, because the type is neither built in nor defined here; "+
			"correct the role if the resource has another name", gvk.GroupKind(), plural.Resource))
	}
}
