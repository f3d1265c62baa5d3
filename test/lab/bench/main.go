// Command bench measures the operator against budgets, and against the floor: the same writes by a bare client, which
// is the least that the API server allows. It boots its own clusters, runs the operator's real program, and prints a
// table.
//
//	go run ./test/lab/bench                    everything, about 20 minutes
//	go run ./test/lab/bench -quick             everything in a small size
//	go run ./test/lab/bench -scenario 1,2      some of it
//	go run ./test/lab/bench -operator PATH -operator PATH
//	                                       the scenarios 1 to 4, 6, 8 and 9 with several operators, which take turns
//
// Run it from the project's root, after "make cluster build"; "make bench" does both. The exit code is 0 even if a
// budget is missed, unless the flag -strict is given.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/discovery"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/fairlead-io/fairlead/test/lab/markdown"
	"github.com/fairlead-io/fairlead/test/program"
)

// The kernel ends the operator when the thread that started the operator ends. The main thread exists as long as the
// program runs.
func init() { runtime.LockOSThread() }

func main() {
	os.Exit(run())
}

func run() int {
	scenario := flag.String("scenario", "", "numbers of the scenarios to run, such as 1,2; all by default")
	quick := flag.Bool("quick", false, "run small sizes, once each")
	strict := flag.Bool("strict", false, "exit with 1 if a budget is missed")
	list := flag.Bool("list", false, "print the scenarios and their budgets, and run none")
	profiles := flag.String("profiles", "", "folder for CPU and heap profiles of the operator; taking them costs time")
	jsonFile := flag.String("json", "", "file for all measurements")
	var operators paths
	flag.Var(&operators, "operator", "executable of an operator to compare; can be given several times")
	flag.Parse()
	numbers, err := parseNumbers(*scenario)
	if err == nil && len(operators) > 0 {
		numbers, err = comparedNumbers(numbers)
	}
	if err != nil || flag.NArg() > 0 {
		fmt.Fprintf(
			os.Stderr,
			"bench: %v; want flags and no other arguments; -help lists the flags\n",
			errors.Join(err, unexpected(flag.Args())),
		)
		return program.ExitBadUsage
	}
	if *list {
		printScenarios()
		return 0
	}
	ctrl.SetLogger(logr.Discard()) // The messages of client libraries are not useful here.
	ctx, cancel := program.Interruptible(context.Background())
	defer cancel(nil)
	s := settings{numbers: numbers, quick: *quick, profiles: *profiles, out: os.Stderr, operators: operators}
	r, err := s.report(ctx)
	if !r.empty() {
		err = errors.Join(err, r.write(os.Stdout))
		if *jsonFile != "" {
			err = errors.Join(err, writeFile(*jsonFile, r.writeJSON))
		}
	}
	return exitCode(r, err, *strict)
}

func exitCode(r report, err error, strict bool) int {
	if err != nil {
		return program.ExitCode("bench", err)
	}
	for _, result := range r.all() {
		if strict && !result.met() {
			return program.ExitFailed
		}
	}
	return 0
}

// report runs the scenarios, and returns their results. After an interruption it returns the results so far.
func (s settings) report(ctx context.Context) (report, error) {
	// The scenarios need the controllers of the dev cluster, and the figures hold for its version of Kubernetes.
	if err := os.Unsetenv("KUBEBUILDER_ASSETS"); err != nil {
		return report{}, err
	}
	here := machine{CPU: cpuName(), Cores: runtime.NumCPU(), Go: runtime.Version()}
	r := report{Time: time.Now(), Quick: s.quick, Machine: here}
	if len(s.operators) > 0 {
		return r, s.compare(ctx, &r)
	}
	if _, err := os.Stat(program.OperatorBinary); err != nil {
		return report{}, fmt.Errorf("%w; run 'make build', and then this program from the project's root", err)
	}
	var err error
	if r.Machine.Operator, err = versionOf(ctx, program.OperatorBinary); err != nil {
		return r, err
	}
	b := s.newBench(program.OperatorBinary)
	r.Results, err = b.run(ctx)
	r.Machine.Kubernetes = b.kubernetes
	return r, err
}

func (s settings) newBench(executable string) *bench {
	return &bench{settings: s, program: executable, scenarios: scenarios, lifecycles: map[int]lifecycle{}}
}

// versionOf runs an operator's executable to get its version.
func versionOf(ctx context.Context, executable string) (string, error) {
	version, err := exec.CommandContext(ctx, executable, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("get the version of %s: %w", executable, err)
	}
	return strings.TrimSpace(string(version)), nil
}

// serverVersion reads the version of the cluster.
func serverVersion(s *stage) (string, error) {
	c, err := discovery.NewDiscoveryClientForConfig(s.as(stageAgent))
	if err != nil {
		return "", err
	}
	version, err := c.ServerVersion()
	if err != nil {
		return "", err
	}
	return version.GitVersion, nil
}

func parseNumbers(text string) ([]int, error) {
	var numbers []int
	for word := range strings.SplitSeq(text, ",") {
		if word == "" {
			continue
		}
		number, err := strconv.Atoi(word)
		if _, known := numbered(scenarios, number); err != nil || !known {
			return nil, fmt.Errorf("scenario %q does not exist", word)
		}
		numbers = append(numbers, number)
	}
	return numbers, nil
}

func unexpected(arguments []string) error {
	if len(arguments) == 0 {
		return nil
	}
	return fmt.Errorf("unexpected argument %q", arguments[0])
}

func printScenarios() {
	rows := [][]string{{"#", "scenario", "budget"}}
	for _, s := range scenarios {
		rows = append(rows, []string{fmt.Sprint(s.number), s.title, s.budget})
	}
	markdown.WriteTable(os.Stdout, rows)
}
