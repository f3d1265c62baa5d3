package rendered

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cli/command"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/completion"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/componentroles"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/deletionrights"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/download"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/egress"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/render"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/component/tree"
)

const rbacHelp = `Print the roles that the component NAME needs: a Role for each namespace, and a ClusterRole for
cluster-scoped objects.

The roles allow the component's service account the requests that the operator makes as this account: writes of
dependents, escalate and bind on roles among the dependents, and reads of objects that the component references
or looks up, of the objects in spec.inputs, and of the Secret in spec.webhook. If a dependent or an input has a type
that is not built in, the output also contains a ClusterRole with the label fairlead.io/aggregate-to-operator, which
allows the operator to watch this type. The verbs are:

    dependents           get, create, patch and delete; update with the update
                         policy replace, which needs patch only to release an
                         object or to take it over; no delete with the delete
                         policy orphan
    roles                escalate, by name, or the rules of the role itself;
                         on all roles with the update policy replace
    bindings             bind on the role, or its rules
    objects that are referenced, inputs
                         get, by name
    look-ups             get, by name, or list

With --dir the command renders a folder, an archive or the archive behind a URL without a cluster, like fairlead
render. Without --dir it reads the component from the cluster and renders it with your rights, so apply the
component first. It renders a component with a function only with --call-functions, as the identity of the
component. Give the values of polled inputs, and of objects that you may not read, with --input NAME=FILE. A
folder does not name the objects in spec.inputs, so with --dir the roles do not allow to read them.

--observe is the watch scope of the operator. With cluster and namespaces the operator watches with its own rights,
and the printed roles are the same. With identity the service account makes the watches. It then also needs list and
watch on all these types and on the instances of managed types, and list on all types in a namespace that is deleted.

The service account and the namespaces are not part of the output: create them first, for instance with
kubectl create serviceaccount NAME. The account needs no right to create namespaces if all namespaces of the
dependents exist.`

// rbacOptions are the flags of rbac, and what it works with.
type rbacOptions struct {
	*command.Console
	clusters command.Clusters
	source   sourceOptions
	folder   string
	account  string
	observe  string
	bind     bool
	// callFunctions allows calls of functions.
	callFunctions bool
}

// watchScopes are the values of --observe.
var watchScopes = []string{
	string(component.WatchScopeCluster), string(component.WatchScopeNamespaces),
	string(component.WatchScopeIdentity),
}

// NewRBAC returns the command rbac.
func NewRBAC(base command.Base) *cobra.Command {
	o := &rbacOptions{
		Console: base.Console, clusters: base.Clusters,
		source: sourceOptions{values: base.Console.ValueOptions(), includeCRDs: true},
	}
	var changed func() bool
	cmd := &cobra.Command{
		Use:   "rbac NAME [--dir DIR|ARCHIVE|URL]",
		Short: "Print the roles that a component needs",
		Long:  rbacHelp,
		Args:  command.Takes(0, command.TheComponent),
		RunE: command.Work(func(ctx context.Context, args []string) error {
			if o.folder == "" && changed() {
				return exit.BadUsage("without --dir the component in the cluster is rendered: leave out the flags for " +
					"rendering, or name a folder")
			}
			return o.run(ctx, args[0])
		}),
		ValidArgsFunction: base.Completer.Component,
	}
	flags := cmd.Flags()
	flags.StringVar(&o.folder, "dir", "", "folder, archive or URL to render, instead of the component in the cluster")
	flags.StringVar(&o.account, "service-account", "",
		"service account of the component; by default the one in its spec, or else "+deletionrights.DefaultAccount)
	flags.StringVar(&o.observe, "observe", string(component.WatchScopeCluster),
		"watch scope of the operator: "+strings.Join(watchScopes, ", "))
	completion.Values(cmd, "observe", watchScopes...)
	flags.BoolVar(&o.bind, "bind", false, "also print the bindings to the service account")
	command.AddCallFunctionsFlag(flags, &o.callFunctions)
	ofFolder := o.source.addTo(cmd)
	ofFolder = append(ofFolder, command.FlagSkipSchema)
	flags.StringArrayVar(&o.source.inputs, "input", nil,
		"value of an input in spec.inputs, as NAME=FILE with JSON or YAML; with --dir at .Values.inputs.NAME, or as "+
			"NAME:PATH=FILE at another place; may be repeated; - is stdin")
	changed = func() bool {
		return slices.ContainsFunc(ofFolder, flags.Changed)
	}
	return cmd
}

func (o *rbacOptions) run(ctx context.Context, name string) error {
	if err := o.check(name); err != nil {
		return err
	}
	r, roles, err := o.requirements(ctx, name)
	if err != nil {
		return err
	}
	r.AccountWatches = o.observe == string(component.WatchScopeIdentity)
	operator, err := r.OfOperator()
	if err != nil {
		return err
	}
	grants := r.OfAccount()
	if componentroles.Escalates(grants) {
		o.Warn(errors.New("there are roles among the dependents: with bind and escalate on these roles, the account can " +
			"gain the rights that they grant"))
	}
	if componentroles.EscalatesAnyRole(grants) {
		o.Warn(errors.New("some roles have the update policy replace, so they are created by POST, and escalate cannot be " +
			"granted by name: it is granted on all roles; with another update policy it is granted on these roles only"))
	}
	objects, err := roles.Of(grants, operator)
	if err != nil {
		return err
	}
	return errNotWritten(render.WriteRaw(o.Out, objects))
}

// check validates the flags and arguments that need no cluster.
func (o *rbacOptions) check(name string) error {
	if problems := validation.IsDNS1123Subdomain(o.account); o.account != "" && len(problems) > 0 {
		return exit.BadUsage("--service-account %q: %s", o.account, problems[0])
	}
	if !slices.Contains(watchScopes, o.observe) {
		return exit.BadUsage("--observe %q: want %s", o.observe, strings.Join(watchScopes, ", "))
	}
	if problems := validation.IsDNS1123Subdomain(name); o.folder != "" && len(problems) > 0 {
		return exit.BadUsage("component %q: with --dir the component must be a name without a type: %s", name, problems[0])
	}
	return nil
}

func (o *rbacOptions) roles(component client.ObjectKey, named string) componentroles.Roles {
	account := cmp.Or(o.account, named, deletionrights.DefaultAccount)
	return componentroles.Roles{Component: component, Account: account, Bind: o.bind}
}

// requirements renders the component from the folder of --dir or from the cluster, and returns the rights that the
// rendered objects require.
func (o *rbacOptions) requirements(
	ctx context.Context, name string,
) (componentroles.Requirements, componentroles.Roles, error) {
	if o.folder != "" {
		return o.requirementsOfFolder(ctx, name)
	}
	return o.requirementsOfComponent(ctx, name)
}

func (o *rbacOptions) requirementsOfFolder(
	ctx context.Context, name string,
) (componentroles.Requirements, componentroles.Roles, error) {
	fail := func(err error) (componentroles.Requirements, componentroles.Roles, error) {
		return componentroles.Requirements{}, componentroles.Roles{}, err
	}
	o.source.name = name
	// The namespace is the one of the kubeconfig, because fairlead apply would create the component there.
	namespace, err := o.clusters.DefaultNamespace()
	if err != nil {
		return fail(err)
	}
	req, err := o.source.request(namespace)
	if err != nil {
		return fail(err)
	}
	if req.Source, err = openSource(ctx, o.folder, o.source.path); err != nil {
		return fail(err)
	}
	o.folder = download.Name(o.folder)
	if err := o.source.load(&req, o.In); err != nil {
		return fail(err)
	}
	if len(o.source.inputs) > 0 {
		o.Warn(errors.New("the roles have no rights to read the objects of spec.inputs, because a folder does not name " +
			"them: apply the component, and run the command without --dir"))
	}
	r, err := componentroles.OfFolder(ctx, req, o.Warn)
	if err != nil {
		return fail(errNotRendered(ctx, o.folder, o.source.path, err))
	}
	warnOfNothing(o.folder, len(r.Objects), o.Warn)
	return r, o.roles(client.ObjectKey{Namespace: req.Namespace, Name: name}, ""), nil
}

func (o *rbacOptions) requirementsOfComponent(
	ctx context.Context, name string,
) (componentroles.Requirements, componentroles.Roles, error) {
	fail := func(err error) (componentroles.Requirements, componentroles.Roles, error) {
		return componentroles.Requirements{}, componentroles.Roles{}, err
	}
	given, err := o.Inputs(o.source.inputs)
	if err != nil {
		return fail(err)
	}
	c, target, err := o.clusters.ConnectTo(name)
	if err != nil {
		return fail(err)
	}
	if !target.IsReadyMade() {
		return fail(exit.BadUsage("%s: rbac can only render components.%s from the cluster; name a folder with --dir",
			target, v1alpha1.GroupVersion.Group))
	}
	obj, err := c.Find(ctx, target)
	if err != nil {
		return fail(err)
	}
	found := &v1alpha1.Component{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, found); err != nil {
		return fail(err)
	}
	about, err := o.clusters.Discovery()
	if err != nil {
		return fail(err)
	}
	gate := command.NewGate(c, o.callFunctions, o.Tell)
	live := componentroles.Live{Gate: gate, About: about, Inputs: given, Warn: o.Warn}
	r, err := live.OfComponent(ctx, found)
	if _, refused := errors.AsType[*egress.Refusal](err); refused {
		return fail(err)
	}
	if err != nil {
		return fail(command.RefuseRendering(target, "it", err))
	}
	if r.Recorded, err = tree.Inventory(ctx, c, found.GetStatus()); err != nil {
		o.Warn(fmt.Errorf("the roles may lack rules to prune dependents that are not rendered any more: %w", err))
	}
	return r, o.roles(client.ObjectKeyFromObject(found), found.Spec.ServiceAccountName()), nil
}
