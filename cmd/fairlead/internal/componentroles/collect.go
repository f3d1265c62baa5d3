package componentroles

import (
	"cmp"
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
	"github.com/fairlead-io/fairlead/internal/settingtext"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// OfFolder renders the installation and the upgrade of a component from a folder, without a cluster, and returns the
// requirements of both. It calls warn with assumptions that a person must check.
func OfFolder(ctx context.Context, req render.Request, warn func(error)) (Requirements, error) {
	asked := &AskedLookups{}
	req.Target = asked
	objects, err := ofBoth(func(upgrade bool) ([]manifests.Object, error) {
		req.Upgrade = upgrade
		return render.Dependents(ctx, req)
	})
	objects, credentials := withoutExternals(objects)
	return Requirements{
		Namespace: req.Namespace, Policies: operator.Policies, Objects: objects, Lookups: asked.All(),
		References: append(credentials, anySource),
		Resource:   Resources(objects, nil, warnOfGuess(warn)),
	}, err
}

// Live renders components that exist in a cluster.
type Live struct {
	// Gate grants the rights of the rendering.
	Gate egress.Gate
	// About reads what the cluster serves.
	About notes.Discovery
	// Inputs are given values of inputs in spec.inputs, by their names.
	Inputs map[string]any
	// Warn is called with assumptions that a person must check.
	Warn func(error)
}

// OfComponent renders a component of the ready-made operator, and returns its requirements.
func (l Live) OfComponent(ctx context.Context, component *v1alpha1.Component) (Requirements, error) {
	access, err := l.Gate.Open(ctx, component, egress.Use{Renders: true})
	if err != nil {
		return Requirements{}, err
	}
	reader := notes.Reader{About: l.About, Credentials: access.CallFunctions, Inputs: l.Inputs}
	if reader.Client, err = l.Gate.Client(access); err != nil {
		return Requirements{}, err
	}
	req, err := reader.Request(ctx, component)
	if err != nil {
		return Requirements{}, err
	}
	asked, mapper := &AskedLookups{Answers: req.Target}, l.Gate.Cluster.RESTMapper()
	req.Target = asked
	objects, err := ofBoth(func(upgrade bool) ([]manifests.Object, error) {
		if upgrade == (req.Revision > 1) {
			return render.Live(ctx, req, mapper, access.CallFunctions)
		}
		if component.Spec.Function != nil {
			return nil, nil // A function is not called for a revision that does not exist.
		}
		other := req
		if other.Revision = 1; upgrade {
			other.Revision = 2
		}
		return render.Live(ctx, other, mapper, false)
	})
	objects, credentials := withoutExternals(objects)
	return Requirements{
		Namespace: component.Namespace, Policies: component.Spec.Policies().Or(operator.Policies),
		Objects: objects, Lookups: asked.All(), References: append(referencesOf(component), credentials...),
		Resource: Resources(objects, mapper, warnOfGuess(l.Warn)),
		Managed:  managedTypes(component, l.Warn),
		Inputs:   inputsOf(component, mapper), Signatures: signaturesOf(component),
	}, err
}

// ofBoth returns the objects of an installation and of an upgrade, which may have other hooks. An object with the same
// manifest in both is returned once.
func ofBoth(rendering func(upgrade bool) ([]manifests.Object, error)) ([]manifests.Object, error) {
	type rendered struct {
		key    manifests.Key
		digest string
	}
	found := map[rendered]bool{}
	var both []manifests.Object
	for _, upgrade := range []bool{false, true} {
		objects, err := rendering(upgrade)
		if err != nil {
			return both, err
		}
		for _, o := range objects {
			if at := (rendered{o.Key, o.Digest}); !found[at] {
				found[at] = true
				both = append(both, o)
			}
		}
	}
	return both, nil
}

// withoutExternals returns the objects without externals, which no API server gets, and the references of the
// externals.
func withoutExternals(objects []manifests.Object) (inside []manifests.Object, references []metav1alpha1.Reference) {
	for _, o := range objects {
		if !o.Key.IsExternal() {
			inside = append(inside, o)
			continue
		}
		named, err := settingtext.ExternalReferences(o.Body)
		if err != nil {
			continue // The manifest was checked before.
		}
		references = append(references, named...)
	}
	return inside, references
}

// anySource is the reference to all ConfigMaps that fairlead apply creates. It has no name, because the name of such a
// ConfigMap depends on its content.
var anySource = metav1alpha1.Reference{Kind: metav1alpha1.ConfigMapReference}

// referencesOf returns the references of the component now and after the next fairlead apply.
func referencesOf(component *v1alpha1.Component) []metav1alpha1.Reference {
	references := component.References()
	for _, external := range component.Spec.Externals {
		references = append(references, external.Service.References()...)
	}
	if k := component.Spec.Target; k != nil {
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

// inputsOf returns the look-ups of the objects in spec.inputs, whether they exist or not.
func inputsOf(component *v1alpha1.Component, mapper meta.RESTMapper) []Lookup {
	var inputs []Lookup
	for _, input := range component.Spec.Inputs {
		if input.Object == nil {
			continue
		}
		gvk := schema.FromAPIVersionAndKind(input.Object.APIVersion, input.Object.Kind)
		namespace := cmp.Or(input.Object.Namespace, component.Namespace)
		mapping, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		if err == nil && mapping.Scope.Name() == meta.RESTScopeNameRoot {
			namespace = ""
		}
		inputs = append(inputs, Lookup{gvk, namespace, input.Object.Name})
	}
	return inputs
}

// signaturesOf returns the name of the Secret in spec.webhook, or an empty text.
func signaturesOf(component *v1alpha1.Component) string {
	if component.Spec.Webhook == nil {
		return ""
	}
	return component.Spec.Webhook.SecretRef.Name
}

// managedTypes returns the additional managed types of a component that can be expressed in a role. It calls warn for
// the others.
func managedTypes(component *v1alpha1.Component, warn func(error)) []manifests.ManagedType {
	var types []manifests.ManagedType
	for i, pattern := range component.Spec.AdditionalManagedTypes() {
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
