package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/test/devcluster/internal/cluster"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// Run executes the command line and returns the exit code: 0 for success, 1 for a failure, and 2 if the caller must
// change the arguments or the environment. An error is printed as one line to stderr.
func Run(ctx context.Context, arguments []string, stdout, stderr io.Writer) int {
	command := newRoot(stdout)
	command.SetArgs(arguments)
	command.SetOut(stdout)
	command.SetErr(stderr)
	err := command.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	_, _ = fmt.Fprintf(stderr, "devcluster: %v\n", err)
	if errors.As(err, new(cluster.UsageError)) {
		return exitUsage
	}
	return exitFailed
}

func newRoot(stdout io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:               "devcluster",
		Short:             "Runs a throw-away Kubernetes cluster on this machine",
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		Args:              noArguments,
		RunE: func(*cobra.Command, []string) error {
			return cluster.NewUsageError("a command is missing; try 'devcluster --help'")
		},
	}
	root.SetFlagErrorFunc(func(command *cobra.Command, err error) error {
		return cluster.NewUsageError("%v; try '%s --help'", err, command.CommandPath())
	})
	root.AddCommand(newUp(stdout), newUser(stdout))
	return root
}

func newUp(stdout io.Writer) *cobra.Command {
	var config cluster.Config
	command := &cobra.Command{
		Use:   "up --dir DIR",
		Short: "Start a cluster and run it until interrupted",
		Long: "Starts etcd, kube-apiserver, kube-controller-manager, kube-scheduler and fake nodes " +
			"on the loopback address.\n" +
			"Prints a line when the cluster is ready. Writes DIR/kubeconfig, DIR/logs and, with --audit, DIR/audit.log.\n" +
			"Each start begins with an empty cluster. All processes end when this process ends for any reason.\n" +
			"SIGUSR1 kills the API server and starts it again; another line is printed when it is ready.",
		Args: noArguments,
		RunE: func(command *cobra.Command, _ []string) error {
			executable, err := cluster.Executable()
			if err != nil {
				return err
			}
			if config.Dir == "" {
				return cluster.NewUsageError("--dir is missing; try 'devcluster up --help'")
			}
			config.Executable = executable
			restarts := make(chan os.Signal, 1)
			signal.Notify(restarts, syscall.SIGUSR1)
			defer signal.Stop(restarts)
			return cluster.Run(command.Context(), config, restarts, stdout)
		},
	}
	flags := command.Flags()
	flags.StringVar(&config.Dir, "dir", "", "folder for credentials, data and logs")
	flags.IntVar(&config.Nodes, "nodes", 0, "number of fake nodes")
	flags.BoolVar(&config.Audit, "audit", false, "write a line per answered request to DIR/audit.log")
	flags.BoolVar(
		&config.Cloud,
		"cloud",
		false,
		"bind claims to volumes, and give addresses to load balancers and Ingresses",
	)
	flags.BoolVar(
		&config.Echo,
		"echo",
		false,
		"answer webhooks and APIServices whose pods are ready: admit everything, serve no types",
	)
	flags.BoolVar(&config.NoControllers, "no-controllers", false, "run etcd and the API server only")
	return command
}

func newUser(stdout io.Writer) *cobra.Command {
	var dir, name string
	var groups []string
	command := &cobra.Command{
		Use:   "user --dir DIR --name NAME [--group GROUP]...",
		Short: "Print a kubeconfig for another identity",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			if dir == "" {
				return cluster.NewUsageError("--dir is missing; try 'devcluster user --help'")
			}
			kubeconfig, err := cluster.UserKubeconfig(dir, name, groups...)
			if err != nil {
				return err
			}
			if _, err := stdout.Write(kubeconfig); err != nil {
				return fmt.Errorf("print the kubeconfig: %w", err)
			}
			return nil
		},
	}
	flags := command.Flags()
	flags.StringVar(&dir, "dir", "", "folder of the cluster")
	flags.StringVar(&name, "name", "", "name of the user")
	flags.StringArrayVar(&groups, "group", nil, "group of the user; may be repeated")
	return command
}

// noArguments returns an error for positional arguments, including unknown commands.
func noArguments(command *cobra.Command, arguments []string) error {
	if len(arguments) == 0 {
		return nil
	}
	return cluster.NewUsageError("unexpected argument %q; try '%s --help'", arguments[0], command.CommandPath())
}
