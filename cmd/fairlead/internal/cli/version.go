package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	versions "k8s.io/apimachinery/pkg/util/version"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/show"
	"github.com/fairlead-io/fairlead/internal/version"
)

const versionHelp = `Print the version of this program, and that of the operator in the cluster.

The operator writes its version to its Lease, which all users may read. With --client the command needs no cluster.
A warning says that the versions differ by more than one minor version.`

func (a *app) newVersion() *cobra.Command {
	var output string
	var clientOnly bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the versions of this program and of the operator",
		Long:  versionHelp,
		Args:  takes(0),
		RunE: work(func(ctx context.Context, _ []string) error {
			out, err := a.output(output, show.Documents)
			if err != nil {
				return err
			}
			found := show.NewVersions(version.Version)
			var unknown error
			if !clientOnly {
				found.Operators, unknown = operatorVersions(ctx, a.flags)
			}
			if err := found.Print(out); err != nil {
				return err
			}
			for _, o := range found.Operators {
				if err := checkSkew(found.Client, o.Version); err != nil {
					a.warn(err)
				}
			}
			return unknown
		}),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.Flags().BoolVar(&clientOnly, "client", false, "print the version of this program only, without a cluster")
	addOutputFlag(cmd, &output, show.Documents)
	return cmd
}

// operatorVersions returns the versions of the operators that hold a Lease, or an error that says why none is known.
func operatorVersions(ctx context.Context, flags *genericclioptions.ConfigFlags) ([]show.OperatorVersion, error) {
	c, err := cluster.Connect(flags)
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
