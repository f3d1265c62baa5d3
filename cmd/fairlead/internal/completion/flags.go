package completion

import (
	"context"
	"maps"
	"slices"

	"github.com/spf13/cobra"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
)

// Connection completes the flags of the root command for the namespace and for entries of the kubeconfig.
func (c Completer) Connection(root *cobra.Command) {
	register(root, "namespace", func(cmd *cobra.Command, _ []string, typed string) []string {
		return ask(cmd.Context(), typed, func(ctx context.Context) ([]string, error) {
			connection, err := cluster.Connect(c.flags)
			if err != nil {
				return nil, err
			}
			return connection.Namespaces(ctx)
		})
	})
	for flag, names := range map[string]func(clientcmdapi.Config) []string{
		"context": func(config clientcmdapi.Config) []string { return slices.Sorted(maps.Keys(config.Contexts)) },
		"cluster": func(config clientcmdapi.Config) []string { return slices.Sorted(maps.Keys(config.Clusters)) },
		"user":    func(config clientcmdapi.Config) []string { return slices.Sorted(maps.Keys(config.AuthInfos)) },
	} {
		register(root, flag, func(cmd *cobra.Command, _ []string, typed string) []string {
			return ask(cmd.Context(), typed, func(context.Context) ([]string, error) {
				config, err := c.flags.ToRawKubeConfigLoader().RawConfig()
				return names(config), err
			})
		})
	}
}

// Values completes a flag with fixed values.
func Values(cmd *cobra.Command, flag string, values ...string) {
	// The only errors are a flag that does not exist, and a flag that has a completion.
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// Folder completes one argument: a folder.
func Folder(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// FolderOrArchive completes one argument: a folder or an archive.
func FolderOrArchive(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveDefault
}

// register completes a flag with the names that a function returns.
func register(cmd *cobra.Command, flag string, names func(cmd *cobra.Command, args []string, typed string) []string) {
	complete := func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		return names(cmd, args, typed), cobra.ShellCompDirectiveNoFileComp
	}
	// The only errors are a flag that does not exist, and a flag that has a completion.
	_ = cmd.RegisterFlagCompletionFunc(flag, complete)
}
