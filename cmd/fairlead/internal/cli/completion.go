package cli

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/belongs"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/logs"
)

// completionTimeout is how long a shell waits for names.
const completionTimeout = 3 * time.Second

// completeOne completes the only argument, a component: by its name, or by TYPE/NAME.
func (a *app) completeOne(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
	defer cancel()
	names := a.componentNames(ctx, typed)
	if strings.Contains(typed, "/") || typed == "" && len(names) > 0 {
		return names, cobra.ShellCompDirectiveNoFileComp
	}
	types := a.typeNames(ctx, typed)
	for i := range types {
		types[i] += "/"
	}
	if len(names) == 0 && len(types) > 0 {
		return types, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	return append(names, types...), cobra.ShellCompDirectiveNoFileComp
}

// completeType completes the only argument, a type of components.
func (a *app) completeType(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.typeNames(cmd.Context(), typed), cobra.ShellCompDirectiveNoFileComp
}

// completeApply completes a component and a folder.
func (a *app) completeApply(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 1 {
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
	return a.completeOne(cmd, args, typed)
}

// completeLogs completes a component, and its workloads.
func (a *app) completeLogs(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return a.completeOne(cmd, args, typed)
	}
	return a.ask(cmd.Context(), typed, func(ctx context.Context) ([]string, error) {
		c, target, err := a.connect(args[0])
		if err != nil {
			return nil, err
		}
		all, err := workloadsOf(ctx, c, target, nil)
		return namesOf(all), err
	}), cobra.ShellCompDirectiveNoFileComp
}

// completeContainers completes the flag that names a container: of the pods of the component, and of the workloads, that are named already.
func (a *app) completeContainers(cmd *cobra.Command) {
	// The only error is a flag that does not exist, or is completed already.
	_ = cmd.RegisterFlagCompletionFunc("container", func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return a.ask(cmd.Context(), typed, func(ctx context.Context) ([]string, error) {
			c, target, err := a.connect(args[0])
			if err != nil {
				return nil, err
			}
			workloads, err := workloadsOf(ctx, c, target, args[1:])
			if err != nil {
				return nil, err
			}
			pods := &podLogs{cluster: c, selector: labels.Everything(), belongings: belongs.New(c, workloads)}
			names := map[string]bool{}
			err = pods.each(ctx, namespacesOf(workloads), func(pod *corev1.Pod) {
				for _, name := range logs.Containers(pod) {
					names[name] = true
				}
			})
			return slices.Sorted(maps.Keys(names)), err
		}), cobra.ShellCompDirectiveNoFileComp
	})
}

// componentNames returns names of components that begin as typed.
func (a *app) componentNames(ctx context.Context, typed string) []string {
	kind, _, isTyped := strings.Cut(typed, "/")
	prefix := ""
	if isTyped {
		prefix = kind + "/"
	} else {
		kind = ""
	}
	return a.ask(ctx, typed, func(ctx context.Context) ([]string, error) {
		c, err := cluster.Connect(a.flags)
		if err != nil {
			return nil, err
		}
		names, err := c.Names(ctx, kind)
		for i := range names {
			names[i] = prefix + names[i]
		}
		return names, err
	})
}

// typeNames returns the types of components that the cluster serves, as far as they say that they are some.
func (a *app) typeNames(ctx context.Context, typed string) []string {
	return a.ask(ctx, typed, func(context.Context) ([]string, error) {
		about, err := a.flags.ToDiscoveryClient()
		if err != nil {
			return nil, err
		}
		return cluster.Types(about)
	})
}

// ask returns the answers that begin as typed. Where the cluster cannot be asked, or takes too long, there are none: a shell shows no errors.
func (a *app) ask(ctx context.Context, typed string, question func(context.Context) ([]string, error)) []string {
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	answer := make(chan []string, 1)
	go func() {
		// Discovery heeds no context.
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

// completeConnection completes the flags that say which cluster, and which namespace of it.
func (a *app) completeConnection(root *cobra.Command) {
	completeBy(root, "namespace", func(ctx context.Context, typed string) []string {
		return a.ask(ctx, typed, func(ctx context.Context) ([]string, error) {
			c, err := cluster.Connect(a.flags)
			if err != nil {
				return nil, err
			}
			return c.Namespaces(ctx)
		})
	})
	for flag, names := range map[string]func(clientcmdapi.Config) []string{
		"context": func(config clientcmdapi.Config) []string { return slices.Sorted(maps.Keys(config.Contexts)) },
		"cluster": func(config clientcmdapi.Config) []string { return slices.Sorted(maps.Keys(config.Clusters)) },
		"user":    func(config clientcmdapi.Config) []string { return slices.Sorted(maps.Keys(config.AuthInfos)) },
	} {
		completeBy(root, flag, func(ctx context.Context, typed string) []string {
			return a.ask(ctx, typed, func(context.Context) ([]string, error) {
				config, err := a.flags.ToRawKubeConfigLoader().RawConfig()
				return names(config), err
			})
		})
	}
}

// completeBy offers what names returns for a flag.
func completeBy(cmd *cobra.Command, flag string, names func(ctx context.Context, typed string) []string) {
	// The only error is a flag that does not exist, or is completed already.
	_ = cmd.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return names(cmd.Context(), typed), cobra.ShellCompDirectiveNoFileComp
	})
}

// complete offers fixed values for a flag.
func complete(cmd *cobra.Command, flag string, values ...string) {
	// The only error is a flag that does not exist, or is completed already.
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}
