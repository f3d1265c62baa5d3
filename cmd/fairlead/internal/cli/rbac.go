package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/render"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/rights"
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
		ValidArgsFunction: a.completeOne,
	}
	flags := cmd.Flags()
	flags.StringVar(&o.folder, "dir", "", "folder or archive to render, instead of the component in the cluster")
	flags.StringVar(&o.account, "service-account", "", "service account that the component acts as; by default the one that it names, or else "+defaultAccount)
	flags.StringVar(&o.observe, "observe", string(component.ReachCluster), "how far the operator watches: "+strings.Join(reaches, ", "))
	complete(cmd, "observe", reaches...)
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
	needs, roles, err := a.needsOf(ctx, name, o)
	if err != nil {
		return err
	}
	needs.AccountWatches = o.observe == string(component.ReachIdentity)
	operator, err := needs.OfOperator()
	if err != nil {
		return err
	}
	grants := needs.OfAccount()
	if rights.HandsOut(grants) {
		a.warn(errors.New("there are roles among the dependents: with bind and escalate on them the account can reach what these may grant"))
	}
	if rights.HandsOutAnything(grants) {
		a.warn(errors.New("roles with the update policy replace are created by POST, for which escalate cannot be granted by name: " +
			"it is granted on all roles; another update policy for these needs it on them alone"))
	}
	objects, err := roles.Of(grants, operator)
	if err != nil {
		return err
	}
	return unwritten(render.WriteRaw(a.Out, objects))
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

func (o rbacOptions) roles(component client.ObjectKey, named string) rights.Roles {
	return rights.Roles{Component: component, Account: cmp.Or(o.account, named, defaultAccount), Bind: o.bind}
}

// warnOfGuess tells of a type whose resource is not known.
func (a *app) warnOfGuess(gvk schema.GroupVersionKind) {
	plural, _ := meta.UnsafeGuessKindToResource(gvk)
	a.warn(fmt.Errorf("%s is none of Kubernetes, and not defined here: its resource is taken for %q; correct that where it has another name", gvk.GroupKind(), plural.Resource))
}
