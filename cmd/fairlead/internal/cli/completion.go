package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
)

// completionTimeout is how long a shell waits for names.
const completionTimeout = 3 * time.Second

// completeOne completes the only argument, a component.
func (a *app) completeOne(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.componentNames(cmd.Context(), typed), cobra.ShellCompDirectiveNoFileComp
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
	return a.workloadNames(cmd.Context(), args[0], typed), cobra.ShellCompDirectiveNoFileComp
}

// workloadNames asks the cluster for the workloads of a component.
func (a *app) workloadNames(ctx context.Context, component, typed string) []string {
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	c, target, err := a.connect(component)
	if err != nil {
		return nil
	}
	all, err := workloadsOf(ctx, c, target, nil)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(namesOf(all), func(name string) bool { return !strings.HasPrefix(name, typed) })
}

// componentNames asks the cluster for names that begin as typed. Where it cannot be asked there are none: a shell shows no errors.
func (a *app) componentNames(ctx context.Context, typed string) []string {
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	c, err := cluster.Connect(a.flags)
	if err != nil {
		return nil
	}
	kind, prefix, isTyped := strings.Cut(typed, "/")
	if !isTyped {
		kind, prefix = "", typed
	}
	names, err := c.Names(ctx, kind)
	if err != nil {
		return nil
	}
	var found []string
	for _, name := range names {
		if strings.HasPrefix(name, prefix) {
			found = append(found, strings.TrimSuffix(typed, prefix)+name)
		}
	}
	return found
}

// complete offers fixed values for a flag.
func complete(cmd *cobra.Command, flag string, values ...string) {
	// The only error is a flag that does not exist, or is completed already.
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}
