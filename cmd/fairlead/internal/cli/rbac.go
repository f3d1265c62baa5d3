package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/notes"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/publish"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/render"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/rights"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/values"
)

const rbacHelp = `Print the roles that the component NAME needs: a Role in each namespace, and a ClusterRole for what has none or is in several.

They grant the service account that the component acts as what the operator asks for in its name: to write the dependents, to hand out
the rights in roles among them, and to read what the component references and looks up. Where the operator must be granted something to
watch, because a type is none of Kubernetes, another ClusterRole does, by the label fairlead.io/aggregate-to-operator.

With --dir a folder or an archive is rendered, and no cluster is asked, as render does. Without it the component is read from the cluster,
and rendered as it is there, with your rights: apply it first, and grant what it needs then.

The account itself is not made, nor are namespaces: kubectl create serviceaccount NAME does. A Role needs its namespace to exist; an account
that may not create namespaces needs no more once it does.`

// rbacOptions are the flags of rbac.
type rbacOptions struct {
	renderOptions
	folder  string
	account string
	bind    bool
}

func (a *app) newRBAC() *cobra.Command {
	o := rbacOptions{renderOptions: renderOptions{values: values.Sources{Stdin: a.In, Warn: a.warn}, includeCRDs: true}}
	var changed func() bool
	cmd := &cobra.Command{
		Use:   "rbac NAME [--dir DIR|ARCHIVE]",
		Short: "Print the roles that a component needs",
		Long:  rbacHelp,
		Args:  cobra.ExactArgs(1),
		RunE: work(func(ctx context.Context, args []string) error {
			if o.folder == "" && changed() {
				return exit.BadUsage("without --dir the component is rendered as it is in the cluster: leave the flags of the rendering out, or name the folder")
			}
			return a.rbac(ctx, args[0], o)
		}),
		ValidArgsFunction: a.completeOne,
	}
	flags := cmd.Flags()
	flags.StringVar(&o.folder, "dir", "", "folder or archive to render, instead of the component in the cluster")
	flags.StringVar(&o.account, "service-account", "", "service account that the component acts as; by default the one that it names, or else "+defaultAccount)
	flags.BoolVar(&o.bind, "bind", false, "print the bindings to the service account, too")
	o.addRenderFlags(cmd)
	changed = func() bool {
		return slices.ContainsFunc([]string{"values", "set", "path", "generator", "kube-version", "api-versions"}, flags.Changed)
	}
	return cmd
}

// defaultAccount is what the operator's chart makes components act as that name no account.
const defaultAccount = "fairlead"

func (a *app) rbac(ctx context.Context, name string, o rbacOptions) error {
	if problems := validation.IsDNS1123Subdomain(o.account); o.account != "" && len(problems) > 0 {
		return exit.BadUsage("--service-account %q: %s", o.account, problems[0])
	}
	needs, roles, err := a.needsOf(ctx, name, o)
	if err != nil {
		return err
	}
	operator, err := needs.OfOperator()
	if err != nil {
		return err
	}
	grants := needs.OfAccount()
	if rights.HandsOut(grants) {
		a.warn(errors.New("there are roles among the dependents: with bind and escalate on them the account can reach what these may grant"))
	}
	objects, err := roles.Of(grants, operator)
	if err != nil {
		return err
	}
	return unwritten(render.WriteRaw(a.Out, objects))
}

// needsOf renders the component, from a folder or as it is in the cluster.
func (a *app) needsOf(ctx context.Context, name string, o rbacOptions) (rights.Needs, rights.Roles, error) {
	if o.folder != "" {
		return a.needsOfFolder(ctx, name, o)
	}
	return a.needsOfComponent(ctx, name, o)
}

func (a *app) needsOfFolder(ctx context.Context, name string, o rbacOptions) (rights.Needs, rights.Roles, error) {
	o.name = name
	req, err := o.request(*a.flags.Namespace)
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
		Namespace: req.Namespace, Policies: withDefaults(metav1alpha1.Policies{}), Objects: objects, Lookups: recorder.Asked(),
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
		Namespace: component.Namespace, Policies: withDefaults(component.Policies()), Objects: objects, Lookups: recorder.Asked(),
		References: referencesOf(component), Resource: rights.Resources(objects, c.RESTMapper(), a.warnOfGuess),
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

// withDefaults fills in what the ready-made operator is configured to.
func withDefaults(p metav1alpha1.Policies) metav1alpha1.Policies {
	return p.Or(metav1alpha1.Policies{
		Update: metav1alpha1.UpdateSSAOverride, Delete: metav1alpha1.DeleteDelete, Adoption: metav1alpha1.AdoptIfUnowned,
	})
}

func (o rbacOptions) roles(component client.ObjectKey, named string) rights.Roles {
	return rights.Roles{Component: component, Account: cmp.Or(o.account, named, defaultAccount), Bind: o.bind}
}

// warnOfGuess tells of a type whose resource is not known.
func (a *app) warnOfGuess(gvk schema.GroupVersionKind) {
	plural, _ := meta.UnsafeGuessKindToResource(gvk)
	a.warn(fmt.Errorf("%s is none of Kubernetes, and not defined here: its resource is taken for %q; correct that where it has another name", gvk.GroupKind(), plural.Resource))
}
