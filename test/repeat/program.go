package repeat

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

// exitFailed is the exit code of a test binary in which tests failed. Panics and timeouts have another one.
const exitFailed = 1

// failedLine matches the line about a failed test, or a failed subtest.
var failedLine = regexp.MustCompile(`(?m)^ *--- FAIL: (\S+) \(`)

// Program runs a test binary with its arguments, and runs the tests that failed a second time. It returns the exit code
// of the test binary, or 0 if all failed tests passed the second time. The output of both runs goes to stdout.
// A binary whose failure is not only that of tests does not run again.
func Program(arguments []string, stdout io.Writer) int {
	var first bytes.Buffer
	code, err := run(arguments, io.MultiWriter(stdout, &first))
	if err != nil {
		_, _ = fmt.Fprintln(stdout, err)
		return max(code, exitFailed)
	}
	folder := os.Getenv(folderVariable)
	failed := failedTests(first.String())
	if code != exitFailed || folder == "" || len(failed) == 0 {
		return code
	}
	_, _ = fmt.Fprintf(stdout, "Running failed tests again: %s\n", strings.Join(failed, ", "))
	for _, name := range failed {
		var second bytes.Buffer
		again := append(slices.Clone(arguments), "-test.v", "-test.count=1", "-test.run="+pattern(name))
		if code, err := run(again, io.MultiWriter(stdout, &second)); err != nil || code != 0 || !passed(name, second.String()) {
			return exitFailed
		}
	}
	where := filepath.Base(arguments[0])
	if here, err := os.Getwd(); err == nil {
		where = here
	}
	text := fmt.Sprintf("FLAKY: %s: %s\n%s\n", where, strings.Join(failed, ", "), &first)
	if err := report(folder, text); err != nil {
		_, _ = fmt.Fprintln(stdout, err)
		return exitFailed
	}
	return 0
}

// run runs a program. The exit code of a program that a signal ended is -1. The program gets the signals of this
// process, and ends with the thread that called run.
func run(arguments []string, output io.Writer) (code int, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	program := exec.Command(arguments[0], arguments[1:]...)
	program.Stdout, program.Stderr = output, output
	program.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := program.Start(); err != nil {
		return exitFailed, err
	}
	// The go command sends SIGQUIT if the tests do not end in time. A terminal sends its signals to both processes.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGQUIT)
	defer signal.Stop(signals)
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		for {
			select {
			case s := <-signals:
				_ = program.Process.Signal(s)
			case <-ended:
				return
			}
		}
	}()
	err = program.Wait()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		return failed.ExitCode(), nil
	}
	return 0, err
}

// failedTests returns the failed tests of an output, without the parents of failed subtests. It returns none if the
// failure is not only that of tests that can be repeated.
func failedTests(output string) []string {
	// Only a process that has run all its tests prints this line.
	if !strings.HasSuffix(strings.TrimSpace(output), "\nFAIL") || strings.Contains(output, NotRepeated) {
		return nil
	}
	var names []string
	for _, match := range failedLine.FindAllStringSubmatch(output, -1) {
		names = append(names, match[1])
	}
	slices.Sort(names)
	names = slices.Compact(names)
	return slices.DeleteFunc(slices.Clone(names), func(parent string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, parent+"/") })
	})
}

// pattern returns the value of -test.run that selects a test alone.
func pattern(name string) string {
	var parts []string
	for part := range strings.SplitSeq(name, "/") {
		parts = append(parts, "^"+regexp.QuoteMeta(part)+"$")
	}
	return strings.Join(parts, "/")
}

// passed reports whether an output says that a test passed, and also the top-level test that contains it.
func passed(name, output string) bool {
	root, _, _ := strings.Cut(name, "/")
	for _, name := range []string{name, root} {
		if !regexp.MustCompile(`(?m)^ *--- PASS: ` + regexp.QuoteMeta(name) + ` \(`).MatchString(output) {
			return false
		}
	}
	return true
}
