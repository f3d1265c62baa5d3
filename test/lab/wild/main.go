// Wild installs charts with Helm and with Fairlead, each on a cluster of its own, and compares the two:
//
//	go run ./test/lab/wild [--migrate] [--results bin/wild] [--settings test/lab/wild/charts] [--timeout 90s] DIR...
//
// DIR is the folder of a chart. A chart is installed, upgraded with a changed value, upgraded without a change, rolled
// back to the first values, and uninstalled. After each step the objects in both clusters are compared, and the hooks
// that ran, which the audit logs show. Both programs work at the same time. In the end nothing may be left behind that
// Helm removes. The programs are bin/helm, bin/fairlead and bin/fairlead-operator; "make wild" builds them. The
// operator is an administrator, like Helm, because no chart declares the rights that it needs.
//
// With --migrate, Helm installs each chart, Fairlead takes the release over, and Helm takes it back, with the commands
// of docs/how-to/migrate-from-helm.md. All objects, pods and claims must keep their UIDs and specifications. Then Helm
// upgrades and uninstalls the chart. This needs bin/kubectl too.
//
// The result of each chart is a file, so an interrupted run continues where it ended. A chart that Helm cannot install
// does not count.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-io/fairlead/test/program"
)

// The kernel ends the operator when the thread that started the operator ends. The main thread exists as long as the
// program runs.
func init() { runtime.LockOSThread() }

func main() {
	log.SetLogger(logr.Discard())
	ctx, cancel := program.Interruptible(context.Background())
	code := run(ctx)
	cancel(nil)
	os.Exit(code)
}

// config contains the flags of the command line.
type config struct {
	bin, results, settings string
	timeout                time.Duration
	// again selects the charts that are installed again although they already have a result.
	again string
	// migrate migrates each chart from Helm to Fairlead, and back to Helm, instead.
	migrate bool
}

// The values of --again.
const (
	againNone      = "none"
	againShort     = "short"
	againUncounted = "uncounted"
	againAll       = "all"
)

// run returns the exit code: 1 if Fairlead has a shortfall with a chart, 2 if the command line is wrong.
func run(ctx context.Context) int {
	var c config
	flag.StringVar(&c.bin, "bin", "bin", "folder of the programs helm, fairlead and fairlead-operator")
	flag.StringVar(
		&c.results, "results", "", "folder for the results, a file for each chart; by default bin/wild, or bin/wild-migrate")
	flag.StringVar(&c.settings, "settings", filepath.Join("test", "wild", "charts"), "folder with settings of charts")
	flag.DurationVar(&c.timeout, "timeout", 90*time.Second, "timeout of each step")
	flag.StringVar(
		&c.again,
		"again",
		againNone,
		"charts to try again that have a result: none, short (with a shortfall), uncounted (Helm does not install them), all",
	)
	flag.BoolVar(&c.migrate, "migrate", false, "migrate each chart from Helm to Fairlead, and back to Helm")
	flag.Parse()
	if c.results == "" {
		c.results = filepath.Join("bin", map[bool]string{false: "wild", true: "wild-migrate"}[c.migrate])
	}
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, `wild: name folders of charts: make wild CHARTS="dir dir"`)
		return program.ExitBadUsage
	}
	if !slices.Contains([]string{againNone, againShort, againUncounted, againAll}, c.again) {
		fmt.Fprintf(os.Stderr, "wild: --again %q: want none, short, uncounted or all\n", c.again)
		return program.ExitBadUsage
	}
	var charts []chart
	for _, folder := range flag.Args() {
		read, err := readChart(folder, c.settings)
		if err != nil {
			fmt.Fprintf(os.Stderr, "wild: %v\n", err)
			return program.ExitBadUsage
		}
		charts = append(charts, read)
	}
	if c.migrate {
		return reported(ctx, c, charts, migrateAll, reportMigrations)
	}
	return reported(ctx, c, charts, tryAll, report)
}

// reported runs all charts and reports their results. It returns the exit code.
func reported[R any](
	ctx context.Context,
	c config,
	charts []chart,
	run func(context.Context, config, []chart) ([]R, error),
	report func(io.Writer, []R) int,
) int {
	results, err := run(ctx, c, charts)
	if err != nil {
		return program.ExitCode("wild", program.CauseOf(ctx, err))
	}
	return report(os.Stdout, results)
}
