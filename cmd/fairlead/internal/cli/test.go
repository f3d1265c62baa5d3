package cli

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
stay until the next run, unless their hook-delete-policy says otherwise.`

// testOptions are the flags of test.
type testOptions struct {
	timeout time.Duration
	logs    bool
	inputs  []string
}

func (a *app) newTest() *cobra.Command {
	var o testOptions
	cmd := &cobra.Command{
		Use:   "test NAME [TEST]...",
		Short: "Run the tests of a component's chart",
		Long:  testHelp,
		Example: `  fairlead test shop
  fairlead test shop shop-test-connection --logs --timeout 1m`,
		Args: takes(anyNumber, theComponent),
		RunE: work(func(ctx context.Context, args []string) error {
			return a.test(ctx, args[0], args[1:], o)
		}),
		ValidArgsFunction: a.completer.Component,
	}
	cmd.Flags().DurationVar(&o.timeout, "timeout", 5*time.Minute, "time that each test has, such as 1m")
	addInputFlag(cmd.Flags(), &o.inputs)
	cmd.Flags().BoolVar(&o.logs, "logs", false, "show the logs of each test after its result")
	return cmd
}

func (a *app) test(ctx context.Context, name string, only []string, o testOptions) error {
	if o.timeout <= 0 {
		return exit.BadUsage("--timeout %s: want a duration such as 5m", o.timeout)
	}
	given, err := a.inputs(o.inputs)
	if err != nil {
		return err
	}
	c, target, err := a.connect(name)
	if err != nil {
		return err
	}
	component, err := a.findTestable(ctx, c, target)
	if err != nil {
		return err
	}
	about, err := a.flags.ToDiscoveryClient()
	if err != nil {
		return exit.Unasked("kubeconfig: %w", err)
	}
	tests, err := notes.Reader{Client: c.Client, About: about, Inputs: given}.Tests(ctx, component)
	if err != nil {
		return refuseRendering(target, "its tests", err)
	}
	if tests, err = selectTests(tests, only); err != nil {
		return err
	}
	if len(tests) == 0 {
		_, err := fmt.Fprintf(a.ErrOut, "%s has no tests.\n", target)
		return err
	}
	namespace, _ := component.Placement()
	runner := charttest.Runner{
		Cluster: c, Namespace: namespace, Timeout: o.timeout,
		Report: func(ctx context.Context, r charttest.Result) { a.reportTest(ctx, c, r, o) },
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

// findTestable returns a component whose tests can be run. It warns if the component is not ready.
func (a *app) findTestable(
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
	case component.KubeConfig() != nil:
		return nil, exit.Refuse("%s: its dependents are in another cluster, and tests run in the cluster of the component",
			target)
	case component.Status.Revision == 0:
		return nil, exit.Refuse("%s: no revision of it has been applied yet; %s shows why", target,
			target.Command("status"))
	case !isReadyNow(component):
		a.warn(fmt.Errorf("%s is not ready", target))
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

// reportTest prints the result of a test, and its logs if they are wanted.
func (a *app) reportTest(ctx context.Context, c *cluster.Cluster, r charttest.Result, o testOptions) {
	line := fmt.Sprintf("%s passed after %s\n", r.Test, r.Took.Round(time.Second))
	if !r.Passed {
		line = fmt.Sprintf("%s failed after %s: %s\n", r.Test, r.Took.Round(time.Second), r.Message)
	}
	if _, err := fmt.Fprint(a.Out, terminal.CleanText(line)); err != nil || !o.logs {
		return
	}
	if err := a.testLogs(ctx, c, r.Test); err != nil {
		a.warn(fmt.Errorf("logs of %s: %w", r.Test, err))
	}
}

func (a *app) testLogs(ctx context.Context, c *cluster.Cluster, test manifests.Key) error {
	const maxLogs = 50
	options := logs.Options{Tail: -1, All: true, Prefix: true, Palette: a.palette()}
	sources, err := logs.NewPods(c, []manifests.Key{test}, labels.Everything()).Sources(ctx, options, maxLogs)
	if err != nil {
		return err
	}
	return logs.Print(ctx, c, sources, options, a.Out, a.warn)
}
