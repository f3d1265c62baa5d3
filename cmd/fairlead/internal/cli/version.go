package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	versions "k8s.io/apimachinery/pkg/util/version"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cli/command"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/show"
	"github.com/fairlead-io/fairlead/internal/version"
)

const versionHelp = `Print the version of this program, and that of the operator in the cluster.

The operator writes its version to its Lease, which all users may read. With --client the command needs no cluster.
A warning says that the versions differ by more than one minor version. If the version of the operator is not known,
the reason is on stderr, and the exit code is 1 or 3.`

// versionOptions are the flags of version, and what it works with.
type versionOptions struct {
	*command.Console
	clusters   command.Clusters
	output     string
	clientOnly bool
}

func newVersion(base command.Base) *cobra.Command {
	o := &versionOptions{Console: base.Console, clusters: base.Clusters}
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the versions of this program and of the operator",
		Long:  versionHelp,
		Args:  command.Takes(0),
		RunE: command.Work(func(ctx context.Context, _ []string) error {
			out, err := o.Output(o.output, show.Documents)
			if err != nil {
				return err
			}
			return o.run(ctx, out)
		}),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.Flags().BoolVar(&o.clientOnly, "client", false, "print the version of this program only, without a cluster")
	command.AddOutputFlag(cmd, &o.output, show.Documents)
	return cmd
}

func (o *versionOptions) run(ctx context.Context, out show.Output) error {
	found := show.NewVersions(version.Version)
	var unknown error
	if !o.clientOnly {
		found.Operators, unknown = operatorVersions(ctx, o.clusters)
	}
	if err := found.Print(out); err != nil {
		return err
	}
	for _, operator := range found.Operators {
		if err := checkSkew(found.Client, operator.Version); err != nil {
			o.Warn(err)
		}
	}
	return unknown
}

// operatorVersions returns the versions of the operators that hold a Lease, or an error that says why none is known.
func operatorVersions(ctx context.Context, clusters command.Clusters) ([]show.OperatorVersion, error) {
	c, err := clusters.Connect()
	if err != nil {
		return nil, err
	}
	target, err := c.Resolve(cluster.Reference{})
	if err != nil {
		return nil, err
	}
	target.Namespace = ""
	operator := c.Operator(ctx, target)
	switch operator.State {
	case cluster.OperatorAbsent:
		return nil, exit.Refuse("the version of the operator is not known: %s", operator.Message)
	case cluster.OperatorNotChecked:
		return nil, exit.Unasked("the version of the operator is not known: %s", operator.Message)
	case cluster.OperatorServes:
	}
	var found []show.OperatorVersion
	for _, v := range operator.Versions() {
		found = append(found, show.OperatorVersion{Namespace: v.Namespace, Version: v.Version})
	}
	return found, nil
}

// maxSkew is the difference of the minor versions of program and operator up to which there is no warning, as between
// kubectl and an API server.
const maxSkew = 1

// checkSkew returns an error if the versions of program and operator differ by more than maxSkew, or in the major
// version. It returns nil if one of them is no release.
func checkSkew(program, operator string) error {
	ours, err := versions.ParseSemantic(program)
	theirs, err2 := versions.ParseSemantic(operator)
	if errors.Join(err, err2) != nil {
		return nil
	}
	minor := max(ours.Minor(), theirs.Minor()) - min(ours.Minor(), theirs.Minor())
	if ours.Major() == theirs.Major() && minor <= maxSkew {
		return nil
	}
	return fmt.Errorf("this program has the version %s and the operator %s, more than one minor version apart, so plans "+
		"and statuses may differ from what the operator does", program, operator)
}
