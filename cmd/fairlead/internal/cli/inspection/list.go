package inspection

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cli/command"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/show"
)

const listHelp = `List the components of a namespace with their states: those of the ready-made operator, and those of all
types whose definition has the category fairlead. With TYPE the command lists the components of this type only.

The names of components of other operators have the form TYPE/NAME, which other commands accept. Types that you may
not list are named on stderr.`

// listOptions are the flags of list, and what it works with.
type listOptions struct {
	*command.Console
	clusters command.Clusters
	output   string
	// everywhere lists the components of all namespaces.
	everywhere bool
}

// NewList returns the command list.
func NewList(base command.Base) *cobra.Command {
	o := &listOptions{Console: base.Console, clusters: base.Clusters}
	cmd := &cobra.Command{
		Use:   "list [TYPE]",
		Short: "List components",
		Long:  listHelp,
		Args:  command.Takes(1),
		RunE: command.Work(func(ctx context.Context, args []string) error {
			out, err := o.Output(o.output, show.Formats)
			if err != nil {
				return err
			}
			kind := ""
			if len(args) > 0 {
				kind = args[0]
			}
			return o.run(ctx, kind, out)
		}),
		ValidArgsFunction: base.Completer.Type,
	}
	cmd.Flags().BoolVarP(&o.everywhere, "all-namespaces", "A", false, "list the components of all namespaces")
	command.AddOutputFlag(cmd, &o.output, show.Formats)
	return cmd
}

func (o *listOptions) run(ctx context.Context, kind string, out show.Output) error {
	c, err := o.clusters.Connect()
	if err != nil {
		return err
	}
	targets, err := o.types(c, kind)
	if err != nil {
		return err
	}
	var items []show.Component
	var refused []error
	for i := range targets {
		if o.everywhere {
			targets[i].Namespace = ""
		}
		found, err := componentsOf(ctx, c, targets[i], kind == "")
		switch {
		case apierrors.IsForbidden(err):
			refused = append(refused, err)
		case err != nil:
			return err
		}
		items = append(items, found...)
	}
	if len(refused) == len(targets) {
		return refused[0]
	}
	for _, err := range refused {
		o.Warn(fmt.Errorf("not listed: %w", err))
	}
	if len(items) == 0 && !out.Structured() {
		_, err := fmt.Fprintln(o.ErrOut, none(targets))
		return err
	}
	slices.SortStableFunc(items, func(a, b show.Component) int { return cmp.Compare(a.Namespace, b.Namespace) })
	list := show.NewList(items)
	list.Typed = kind == ""
	if len(items) > 0 {
		o.addOperator(ctx, c, targets, &list)
	}
	return list.Print(out, time.Now())
}

// types returns the type of the argument or, without an argument, all types of components that the API server
// serves now. It warns if some of them are not known.
func (o *listOptions) types(c *cluster.Cluster, kind string) ([]cluster.Target, error) {
	if kind != "" {
		target, err := c.Resolve(cluster.Reference{Type: kind})
		return []cluster.Target{target}, err
	}
	about, err := o.clusters.Discovery()
	if err != nil {
		return nil, err
	}
	types, err := cluster.Types(about)
	if len(types) == 0 {
		if err != nil {
			return nil, err
		}
		// The error says that nothing is installed.
		target, err := c.Resolve(cluster.Reference{})
		return []cluster.Target{target}, err
	}
	if err != nil {
		o.Warn(fmt.Errorf("some types of components may not be listed: %w", err))
	}
	return cluster.Targets(types, c.Namespace), nil
}

// componentsOf returns the components of a type. An object that is no component is left out if lenient is set, and is
// an error otherwise.
func componentsOf(
	ctx context.Context, c *cluster.Cluster, target cluster.Target, lenient bool,
) (items []show.Component, err error) {
	err = c.List(ctx, target.Mapping, target.Namespace, func(obj *unstructured.Unstructured) error {
		item := cluster.Target{Mapping: target.Mapping, Namespace: obj.GetNamespace(), Name: obj.GetName()}
		status, err := cluster.StatusIfAny(item, obj)
		if err == nil {
			items = append(items, show.NewComponent(obj, status))
		}
		if lenient {
			return nil
		}
		return err
	})
	return items, err
}

// addOperator adds to a list, and prints, whether an operator serves the components. If the list contains components of
// several types, the components have it and not the list.
func (o *listOptions) addOperator(ctx context.Context, c *cluster.Cluster, targets []cluster.Target, list *show.List) {
	var shown []cluster.Operator
	for _, target := range targets {
		apiVersion, kind := target.Mapping.GroupVersionKind.ToAPIVersionAndKind()
		isOf := func(item show.Component) bool { return item.APIVersion == apiVersion && item.Kind == kind }
		if !slices.ContainsFunc(list.Items, isOf) {
			continue
		}
		target.Namespace = ""
		operator := c.Operator(ctx, target)
		var namespaces []string
		for i, item := range list.Items {
			if isOf(item) {
				namespaces = append(namespaces, item.Namespace)
				list.Items[i].Operator = command.ShownOperator(operator.In(item.Namespace))
			}
		}
		shown = append(shown, operator)
		command.WarnOfOperatorIn(operator, namespaces, o.Warn)
	}
	if len(shown) != 1 || shown[0].State == cluster.OperatorServes {
		return
	}
	list.Operator = command.ShownOperator(shown[0])
	for i := range list.Items {
		list.Items[i].Operator = nil
	}
}

// none says that there are no components of some types.
func none(targets []cluster.Target) string {
	var types []string
	namespace := ""
	for _, target := range targets {
		types = append(types, target.Mapping.Resource.GroupResource().String())
		namespace = cmp.Or(namespace, target.Namespace)
	}
	text := "There are no " + strings.Join(types, " or ")
	if namespace == "" {
		return text + "."
	}
	return fmt.Sprintf("%s in namespace %q.", text, namespace)
}
