package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/show"
)

func (a *app) newList() *cobra.Command {
	var output string
	var everywhere bool
	cmd := &cobra.Command{
		Use:   "list [TYPE]",
		Short: "List components",
		Long:  "List the components of a namespace with their states. TYPE is the component type of another operator.",
		Args:  takes(1),
		RunE: work(func(ctx context.Context, args []string) error {
			out, err := a.output(output, show.Formats)
			if err != nil {
				return err
			}
			kind := ""
			if len(args) > 0 {
				kind = args[0]
			}
			return a.list(ctx, kind, everywhere, out)
		}),
		ValidArgsFunction: a.completer.Type,
	}
	cmd.Flags().BoolVarP(&everywhere, "all-namespaces", "A", false, "list the components of all namespaces")
	addOutputFlag(cmd, &output, show.Formats)
	return cmd
}

func (a *app) list(ctx context.Context, kind string, everywhere bool, out show.Output) error {
	c, err := cluster.Connect(a.flags)
	if err != nil {
		return err
	}
	target, err := c.Resolve(cluster.Reference{Type: kind})
	if err != nil {
		return err
	}
	if everywhere {
		target.Namespace = ""
	}
	var items []show.Component
	err = c.List(ctx, target.Mapping, target.Namespace, func(obj *unstructured.Unstructured) error {
		item := cluster.Target{Mapping: target.Mapping, Namespace: obj.GetNamespace(), Name: obj.GetName()}
		status, err := cluster.StatusIfAny(item, obj)
		if err == nil {
			items = append(items, show.NewComponent(obj, status))
		}
		return err
	})
	if err != nil {
		return err
	}
	if len(items) == 0 && !out.Structured() {
		_, err := fmt.Fprintln(a.ErrOut, none(target))
		return err
	}
	list := show.NewList(items)
	if len(items) > 0 {
		a.addOperator(ctx, c, target, &list)
	}
	return list.Print(out, time.Now())
}

// addOperator adds to a list, and prints, whether an operator serves the components.
func (a *app) addOperator(ctx context.Context, c *cluster.Cluster, target cluster.Target, list *show.List) {
	target.Namespace = ""
	operator := c.Operator(ctx, target)
	list.Operator = operatorOf(operator)
	var namespaces []string
	for i, item := range list.Items {
		namespaces = append(namespaces, item.Namespace)
		if operator.State == cluster.OperatorServes {
			list.Items[i].Operator = operatorOf(operator.In(item.Namespace))
		}
	}
	a.tellOperatorIn(operator, namespaces)
}

func none(target cluster.Target) string {
	types := target.Mapping.Resource.GroupResource().String()
	if target.Namespace == "" {
		return fmt.Sprintf("There are no %s.", types)
	}
	return fmt.Sprintf("There are no %s in namespace %q.", types, target.Namespace)
}
