package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/notes"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/publish"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/render"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/rights"
	"github.com/fairlead-io/fairlead/internal/operator"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// needsOf renders the component, from a folder or as it is in the cluster.
func (a *app) needsOf(ctx context.Context, name string, o rbacOptions) (rights.Needs, rights.Roles, error) {
	if o.folder != "" {
		return a.needsOfFolder(ctx, name, o)
	}
	return a.needsOfComponent(ctx, name, o)
}

func (a *app) needsOfFolder(ctx context.Context, name string, o rbacOptions) (rights.Needs, rights.Roles, error) {
	o.name = name
	// The roles are for the cluster that kubectl talks to: what is rendered without asking it goes where apply would put it.
	namespace, _, err := a.flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return rights.Needs{}, rights.Roles{}, exit.Unasked("kubeconfig: %w", err)
	}
	req, err := o.request(namespace)
	if err != nil {
		return rights.Needs{}, rights.Roles{}, err
	}
	if req.Source, err = openSource(o.folder, o.path); err != nil {
		return rights.Needs{}, rights.Roles{}, err
	}
	if req.Values, err = o.values.Load(); err != nil {
		return rights.Needs{}, rights.Roles{}, exit.BadInput("%w", err)
	}
	recorder := &rights.Recorder{}
	req.Target = recorder
	objects, err := render.Dependents(ctx, req)
	if err != nil {
		return rights.Needs{}, rights.Roles{}, unrendered(ctx, o.folder, err)
	}
	a.warnOfNothing(o.folder, len(objects))
	needs := rights.Needs{
		Namespace: req.Namespace, Policies: operator.Policies, Objects: objects, Lookups: recorder.Asked(),
		References: []metav1alpha1.Reference{anySource},
		Resource:   rights.Resources(objects, nil, a.warnOfGuess),
	}
	return needs, o.roles(client.ObjectKey{Namespace: req.Namespace, Name: name}, ""), nil
}

func (a *app) needsOfComponent(ctx context.Context, name string, o rbacOptions) (rights.Needs, rights.Roles, error) {
	fail := func(err error) (rights.Needs, rights.Roles, error) { return rights.Needs{}, rights.Roles{}, err }
	c, target, err := a.connect(name)
	if err != nil {
		return fail(err)
	}
	if !target.IsReadyMade() {
		return fail(exit.BadUsage("%s: only of components.%s it is known what they render; name the folder by --dir", target, v1alpha1.GroupVersion.Group))
	}
	obj, err := c.Find(ctx, target)
	if err != nil {
		return fail(err)
	}
	component := &v1alpha1.Component{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, component); err != nil {
		return fail(err)
	}
	about, err := a.flags.ToDiscoveryClient()
	if err != nil {
		return fail(exit.Unasked("kubeconfig: %w", err))
	}
	req, err := notes.Request(ctx, c.Client, about, component)
	if err != nil {
		return fail(exit.Refuse("%s: it cannot be rendered: %w", target, err))
	}
	recorder := &rights.Recorder{Answers: req.Target}
	req.Target = recorder
	objects, err := render.Live(ctx, req, c.RESTMapper())
	if err != nil {
		return fail(exit.Refuse("%s: it cannot be rendered: %w", target, err))
	}
	needs := rights.Needs{
		Namespace: component.Namespace, Policies: component.Policies().Or(operator.Policies), Objects: objects, Lookups: recorder.Asked(),
		References: referencesOf(component), Resource: rights.Resources(objects, c.RESTMapper(), a.warnOfGuess),
		Managed: a.managedBy(component),
	}
	return needs, o.roles(client.ObjectKeyFromObject(component), component.ServiceAccountName()), nil
}

// anySource is whatever ConfigMap apply puts a folder into: each content has one of a name of its own.
var anySource = metav1alpha1.Reference{Kind: metav1alpha1.ConfigMapReference}

// referencesOf returns what the component reads, now and after the next apply.
func referencesOf(component *v1alpha1.Component) []metav1alpha1.Reference {
	references := component.References()
	source := component.Spec.Source.ConfigMap
	if source == nil || !publish.Names(component.Name, source.Name) {
		return references
	}
	references = slices.DeleteFunc(references, func(ref metav1alpha1.Reference) bool {
		return ref.Kind == metav1alpha1.ConfigMapReference && ref.Name == source.Name
	})
	return append(references, anySource)
}

// managedBy returns the additional managed types of a component of which a role can tell.
func (a *app) managedBy(component *v1alpha1.Component) []manifests.ManagedType {
	var types []manifests.ManagedType
	for i, pattern := range component.AdditionalManagedTypes() {
		t, err := manifests.NewManagedType(pattern.Group, pattern.Kind)
		switch {
		case err != nil:
			a.warn(fmt.Errorf("spec.additionalManagedTypes[%d]: %w", i, err))
		case strings.HasPrefix(t.Group, "*"):
			a.warn(fmt.Errorf("spec.additionalManagedTypes[%d]: roles have no patterns of groups such as %s: whoever watches must be granted "+
				"list and watch on these types by yourself", i, t.Group))
		default:
			types = append(types, t)
		}
	}
	return types
}
