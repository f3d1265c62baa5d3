package charts

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/charttest"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cli/command"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/logs"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/notes"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/terminal"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

const testHelp = `Run the tests of the component NAME: the hooks for test of its chart, as helm test does.

The tests are rendered from the component's source, values and revision. They run one after the other, in the
order of their weights and names, until one fails. With TEST only the Jobs and Pods of these names run; other
objects of the tests, such as service accounts, are always created. Give the values of polled inputs with
--input NAME=FILE.

The command creates, watches and deletes the objects with your rights. The operator does not know them. They
stay until the next run, unless their hook-delete-policy says otherwise.

Three rules are stricter than in Helm. The command does not replace an object that is not a test of a chart. It
never deletes a CustomResourceDefinition, a namespace, an APIService or a PersistentVolumeClaim. It runs no tests of
components whose dependents are in another cluster. As in Helm, spec.postRenderers do not change tests.`

// testOptions are the flags of test, and what it works with.
type testOptions struct {
	*command.Console
	clusters command.Clusters

	timeout time.Duration
	logs    bool
	inputs  []string
}

// NewTest returns the command test.
func NewTest(base command.Base) *cobra.Command {
	o := &testOptions{Console: base.Console, clusters: base.Clusters}
	cmd := &cobra.Command{
		Use:   "test NAME [TEST]...",
		Short: "Run the tests of a component's chart",
		Long:  testHelp,
		Example: `  fairlead test shop
  fairlead test shop shop-test-connection --logs --timeout 1m`,
		Args: command.Takes(command.AnyNumber, command.TheComponent),
		RunE: command.Work(func(ctx context.Context, args []string) error {
			return o.run(ctx, args[0], args[1:])
		}),
		ValidArgsFunction: base.Completer.Component,
	}
	cmd.Flags().DurationVar(&o.timeout, "timeout", command.DefaultTimeout, "time that each test has, such as 1m")
	command.AddInputFlag(cmd.Flags(), &o.inputs)
	cmd.Flags().BoolVar(&o.logs, "logs", false, "show the logs of each test after its result")
	return cmd
}

func (o *testOptions) run(ctx context.Context, name string, only []string) error {
	if o.timeout <= 0 {
		return exit.BadUsage("--timeout %s: want a duration such as 5m", o.timeout)
	}
	given, err := o.Inputs(o.inputs)
	if err != nil {
		return err
	}
	c, target, err := o.clusters.ConnectTo(name)
	if err != nil {
		return err
	}
	component, err := o.find(ctx, c, target)
	if err != nil {
		return err
	}
	about, err := o.clusters.Discovery()
	if err != nil {
		return err
	}
	tests, err := notes.Reader{Client: c.Client, About: about, Inputs: given}.Tests(ctx, component)
	if err != nil {
		return command.RefuseRendering(target, "its tests", err)
	}
	if tests, err = selectTests(tests, only); err != nil {
		return err
	}
	if len(tests) == 0 {
		_, err := fmt.Fprintf(o.ErrOut, "%s has no tests.\n", target)
		return err
	}
	namespace, _ := component.Placement()
	runner := charttest.Runner{
		Cluster: c, Namespace: namespace, Timeout: o.timeout,
		Report: func(ctx context.Context, r charttest.Result) { o.report(ctx, c, r) },
	}
	passed, err := runner.Run(ctx, tests)
	if err != nil {
		return err
	}
	if !passed {
		return &exit.Error{Code: exit.No, Shown: true, Err: fmt.Errorf("%s: a test failed", target)}
	}
	return nil
}

// find returns a component whose tests can be run. It warns if the component is not ready.
func (o *testOptions) find(
	ctx context.Context, c *cluster.Cluster, target cluster.Target,
) (*v1alpha1.Component, error) {
	if !target.IsReadyMade() {
		return nil, exit.BadUsage("%s: only components.%s have tests", target, v1alpha1.GroupVersion.Group)
	}
	obj, err := c.Find(ctx, target)
	if err != nil {
		return nil, err
	}
	component := &v1alpha1.Component{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, component); err != nil {
		return nil, err
	}
	switch {
	case component.Spec.KubeConfig() != nil:
		return nil, exit.Refuse("%s: its dependents are in another cluster, and tests run in the cluster of the component",
			target)
	case component.Status.Revision == 0:
		return nil, exit.Refuse("%s: no revision of it has been applied yet; %s shows why", target,
			target.Command("status"))
	case !isReadyNow(component):
		o.Warn(fmt.Errorf("%s is not ready", target))
	}
	return component, nil
}

// isReadyNow reports whether a component is ready for its current generation.
func isReadyNow(c *v1alpha1.Component) bool {
	return c.Status.State == metav1alpha1.StateReady && c.Status.ObservedGeneration == c.Generation
}

// selectTests returns the tests of the given names, and all objects that are no Jobs or Pods. Without names it returns
// all.
func selectTests(tests []*unstructured.Unstructured, names []string) ([]*unstructured.Unstructured, error) {
	var existing []string
	for _, t := range tests {
		if charttest.Runs(t) {
			existing = append(existing, t.GetName())
		}
	}
	for _, name := range names {
		if !slices.Contains(existing, name) {
			return nil, exit.BadUsage("%q is no test of the chart; the tests are: %s", name,
				strings.Join(slices.Compact(slices.Sorted(slices.Values(existing))), ", "))
		}
	}
	if len(names) == 0 {
		return tests, nil
	}
	return slices.DeleteFunc(tests, func(t *unstructured.Unstructured) bool {
		return charttest.Runs(t) && !slices.Contains(names, t.GetName())
	}), nil
}

// report prints the result of a test, and its logs if they are wanted.
func (o *testOptions) report(ctx context.Context, c *cluster.Cluster, r charttest.Result) {
	line := fmt.Sprintf("%s passed after %s\n", r.Test, r.Took.Round(time.Second))
	if !r.Passed {
		line = fmt.Sprintf("%s failed after %s: %s\n", r.Test, r.Took.Round(time.Second), r.Message)
	}
	if _, err := fmt.Fprint(o.Out, terminal.CleanText(line)); err != nil || !o.logs {
		return
	}
	if err := o.printLogs(ctx, c, r.Test); err != nil {
		o.Warn(fmt.Errorf("logs of %s: %w", r.Test, err))
	}
}

func (o *testOptions) printLogs(ctx context.Context, c *cluster.Cluster, test manifests.Key) error {
	const maxLogs = 50
	options := logs.Options{Tail: -1, All: true, Prefix: true, Palette: o.Palette()}
	containers, err := logs.NewPods(c, []manifests.Key{test}, labels.Everything()).Logged(ctx, options, maxLogs)
	if err != nil {
		return err
	}
	return logs.Print(ctx, c, containers, options, o.Out, o.Warn)
}
