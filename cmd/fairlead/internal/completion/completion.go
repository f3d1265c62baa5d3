package completion

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/logs"
)

// timeout is the maximum time for which a shell waits for completions.
const timeout = 3 * time.Second

// Completer completes arguments and flags with names that it reads from a cluster.
type Completer struct {
	flags *genericclioptions.ConfigFlags
}

// New returns a Completer for the cluster of the flags.
func New(flags *genericclioptions.ConfigFlags) Completer { return Completer{flags} }

// Component completes one argument: a component in the form NAME or TYPE/NAME.
func (c Completer) Component(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
	defer cancel()
	names := c.components(ctx, typed)
	if strings.Contains(typed, "/") || typed == "" && len(names) > 0 {
		return names, cobra.ShellCompDirectiveNoFileComp
	}
	types := c.types(ctx, typed)
	for i := range types {
		types[i] += "/"
	}
	if len(names) == 0 && len(types) > 0 {
		return types, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	return append(names, types...), cobra.ShellCompDirectiveNoFileComp
}

// Type completes one argument: a type of components.
func (c Completer) Type(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return c.types(cmd.Context(), typed), cobra.ShellCompDirectiveNoFileComp
}

// ComponentAndSource completes two arguments: a component and a folder or an archive.
func (c Completer) ComponentAndSource(
	cmd *cobra.Command, args []string, typed string,
) ([]string, cobra.ShellCompDirective) {
	if len(args) == 1 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return c.Component(cmd, args, typed)
}

// Workloads completes a component, and then any number of its workloads in the form KIND/NAME.
func (c Completer) Workloads(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return c.Component(cmd, args, typed)
	}
	return ask(cmd.Context(), typed, func(ctx context.Context) ([]string, error) {
		connection, target, err := cluster.ConnectTo(c.flags, args[0])
		if err != nil {
			return nil, err
		}
		all, err := logs.Workloads(ctx, connection, target, nil)
		return logs.Names(all), err
	}), cobra.ShellCompDirectiveNoFileComp
}

// Containers completes a flag with the containers of the component in the arguments. Workloads in the arguments
// restrict them.
func (c Completer) Containers(cmd *cobra.Command, flag string) {
	register(cmd, flag, func(cmd *cobra.Command, args []string, typed string) []string {
		if len(args) == 0 {
			return nil
		}
		return ask(cmd.Context(), typed, func(ctx context.Context) ([]string, error) {
			connection, target, err := cluster.ConnectTo(c.flags, args[0])
			if err != nil {
				return nil, err
			}
			workloads, err := logs.Workloads(ctx, connection, target, args[1:])
			if err != nil {
				return nil, err
			}
			return logs.NewPods(connection, workloads, labels.Everything()).Containers(ctx)
		})
	})
}

// components returns the components whose names begin with the typed text: those of the type in it, or else of all
// types.
func (c Completer) components(ctx context.Context, typed string) []string {
	kind, _, isTyped := strings.Cut(typed, "/")
	return ask(ctx, typed, func(ctx context.Context) ([]string, error) {
		connection, err := cluster.Connect(c.flags)
		if err != nil {
			return nil, err
		}
		if !isTyped {
			return cluster.ComponentNames(ctx, connection)
		}
		names, err := connection.Names(ctx, kind)
		for i := range names {
			names[i] = kind + "/" + names[i]
		}
		return names, err
	})
}

// types returns the types of components that the cluster serves and that have the category fairlead.
func (c Completer) types(ctx context.Context, typed string) []string {
	return ask(ctx, typed, func(context.Context) ([]string, error) {
		about, err := c.flags.ToDiscoveryClient()
		if err != nil {
			return nil, err
		}
		// If some API groups fail, the types of the other groups are still returned.
		types, err := cluster.Types(about)
		if len(types) == 0 {
			return nil, err
		}
		names := make([]string, 0, len(types))
		for _, mapping := range types {
			names = append(names, mapping.Resource.GroupResource().String())
		}
		return names, nil
	})
}

// ask calls question, and returns those of its results that begin with the typed text. It returns no results if the
// call fails or exceeds the timeout.
func ask(ctx context.Context, typed string, question func(context.Context) ([]string, error)) []string {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	answer := make(chan []string, 1)
	go func() {
		// The discovery client has no context as a parameter, so its requests may continue after ctx ends.
		if names, err := question(ctx); err == nil {
			answer <- names
			return
		}
		answer <- nil
	}()
	select {
	case <-ctx.Done():
		return nil
	case names := <-answer:
		return slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, typed) })
	}
}
