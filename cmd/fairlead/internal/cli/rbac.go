package cli

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/completion"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/rbac"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/render"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/values"
	"github.com/fairlead-io/fairlead/pkg/component"
)

const rbacHelp = `Print the roles that the component NAME needs: a Role in each namespace, and a ClusterRole for what has none.

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
	observe string
	bind    bool
}

// reaches are how far an operator may watch.
var reaches = []string{string(component.ReachCluster), string(component.ReachNamespaces), string(component.ReachIdentity)}

func (a *app) newRBAC() *cobra.Command {
	o := rbacOptions{renderOptions: renderOptions{values: values.Sources{Stdin: a.In, Warn: a.warn}, includeCRDs: true}}
	var changed func() bool
	cmd := &cobra.Command{
		Use:   "rbac NAME [--dir DIR|ARCHIVE]",
		Short: "Print the roles that a component needs",
		Long:  rbacHelp,
		Args:  takes(0, theComponent),
		RunE: work(func(ctx context.Context, args []string) error {
			if o.folder == "" && changed() {
				return exit.BadUsage("without --dir the component is rendered as it is in the cluster: leave the flags of the rendering out, or name the folder")
			}
			return a.rbac(ctx, args[0], o)
		}),
		ValidArgsFunction: a.completer.Component,
	}
	flags := cmd.Flags()
	flags.StringVar(&o.folder, "dir", "", "folder or archive to render, instead of the component in the cluster")
	flags.StringVar(&o.account, "service-account", "", "service account that the component acts as; by default the one that it names, or else "+defaultAccount)
	flags.StringVar(&o.observe, "observe", string(component.ReachCluster), "how far the operator watches: "+strings.Join(reaches, ", "))
	completion.Values(cmd, "observe", reaches...)
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
	if err := o.check(name); err != nil {
		return err
	}
	r, roles, err := a.requirements(ctx, name, o)
	if err != nil {
		return err
	}
	r.AccountWatches = o.observe == string(component.ReachIdentity)
	operator, err := r.OfOperator()
	if err != nil {
		return err
	}
	grants := r.OfAccount()
	if rbac.Escalates(grants) {
		a.warn(errors.New("there are roles among the dependents: with bind and escalate on them the account can reach what these may grant"))
	}
	if rbac.EscalatesAnyRole(grants) {
		a.warn(errors.New("roles with the update policy replace are created by POST, for which escalate cannot be granted by name: " +
			"it is granted on all roles; another update policy for these needs it on them alone"))
	}
	objects, err := roles.Of(grants, operator)
	if err != nil {
		return err
	}
	return errNotWritten(render.WriteRaw(a.Out, objects))
}

// check finds what is wrong with the command line before anything is read.
func (o rbacOptions) check(name string) error {
	if problems := validation.IsDNS1123Subdomain(o.account); o.account != "" && len(problems) > 0 {
		return exit.BadUsage("--service-account %q: %s", o.account, problems[0])
	}
	if !slices.Contains(reaches, o.observe) {
		return exit.BadUsage("--observe %q: want %s", o.observe, strings.Join(reaches, ", "))
	}
	if problems := validation.IsDNS1123Subdomain(name); o.folder != "" && len(problems) > 0 {
		return exit.BadUsage("component %q: with --dir it is only a name: %s", name, problems[0])
	}
	return nil
}

func (o rbacOptions) roles(component client.ObjectKey, named string) rbac.Roles {
	return rbac.Roles{Component: component, Account: cmp.Or(o.account, named, defaultAccount), Bind: o.bind}
}

// requirements renders the component from a folder, or as it is in the cluster.
func (a *app) requirements(ctx context.Context, name string, o rbacOptions) (rbac.Requirements, rbac.Roles, error) {
	if o.folder != "" {
		return a.requirementsOfFolder(ctx, name, o)
	}
	return a.requirementsOfComponent(ctx, name, o)
}

func (a *app) requirementsOfFolder(ctx context.Context, name string, o rbacOptions) (rbac.Requirements, rbac.Roles, error) {
	fail := func(err error) (rbac.Requirements, rbac.Roles, error) { return rbac.Requirements{}, rbac.Roles{}, err }
	o.name = name
	// The roles are for the cluster of the kubeconfig, so the namespace is that in which apply would create the component.
	namespace, _, err := a.flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return fail(exit.Unasked("kubeconfig: %w", err))
	}
	req, err := o.request(namespace)
	if err != nil {
		return fail(err)
	}
	if req.Source, err = openSource(o.folder, o.path); err != nil {
		return fail(err)
	}
	if req.Values, err = o.values.Load(); err != nil {
		return fail(exit.BadInput("%w", err))
	}
	r, err := rbac.OfFolder(ctx, req, a.warn)
	if err != nil {
		return fail(errNotRendered(ctx, o.folder, err))
	}
	a.warnOfNothing(o.folder, len(r.Objects))
	return r, o.roles(client.ObjectKey{Namespace: req.Namespace, Name: name}, ""), nil
}

func (a *app) requirementsOfComponent(ctx context.Context, name string, o rbacOptions) (rbac.Requirements, rbac.Roles, error) {
	fail := func(err error) (rbac.Requirements, rbac.Roles, error) { return rbac.Requirements{}, rbac.Roles{}, err }
	c, target, err := a.connect(name)
	if err != nil {
		return fail(err)
	}
	if !target.IsReadyMade() {
		return fail(exit.BadUsage("%s: only components.%s can be rendered here; name a folder with --dir",
			target, v1alpha1.GroupVersion.Group))
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
	r, err := rbac.OfComponent(ctx, c, about, component, a.warn)
	if err != nil {
		return fail(exit.Refuse("%s: it cannot be rendered: %w", target, err))
	}
	return r, o.roles(client.ObjectKeyFromObject(component), component.ServiceAccountName()), nil
}
