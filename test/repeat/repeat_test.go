package repeat_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/test/repeat"
)

// runAsProgram is an environment variable. If it is set, the test binary is the program that repeats tests.
const runAsProgram = "FAIRLEAD_TEST_REPEAT_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(runAsProgram) != "" {
		os.Exit(repeat.Program(os.Args[1:], os.Stdout))
	}
	os.Exit(m.Run())
}

// outcome is how go test ended, and what was reported as flaky.
type outcome struct {
	passed         bool
	output, report string
	// attempts are the folders in which the tests of testdata/plain count their runs.
	attempts string
}

// goTest runs tests of a package below testdata with the program that repeats them. The variables are added to the
// environment.
func goTest(t *testing.T, folder string, flags []string, variables ...string) outcome {
	t.Helper()
	reports, attempts := t.TempDir(), t.TempDir()
	arguments := []string{"test", "-count=1", "-ldflags=-linkmode=internal", "-exec", os.Args[0], "./testdata/" + folder}
	command := exec.CommandContext(t.Context(), "go", append(arguments, flags...)...)
	command.Env = append(os.Environ(), "FAIRLEAD_TEST_FLAKY="+reports, "FAIRLEAD_TEST_ATTEMPTS="+attempts,
		runAsProgram+"=1")
	command.Env = append(command.Env, variables...)
	output, err := command.CombinedOutput()
	result := outcome{passed: err == nil, output: string(output), attempts: attempts}
	files, err := filepath.Glob(reports + "/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		result.report += string(content)
	}
	return result
}

// ran returns how often a test of testdata/plain ran.
func (o outcome) ran(t *testing.T, name string) int {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(o.attempts, name, "[0-9]"))
	if err != nil {
		t.Fatal(err)
	}
	return len(found)
}

func (o outcome) expect(t *testing.T, passed bool, report ...string) {
	t.Helper()
	if o.passed != passed {
		t.Errorf("go test passed: %t\n%s", o.passed, o.output)
	}
	if len(report) == 0 && o.report != "" {
		t.Errorf("reported as flaky:\n%s", o.report)
	}
	for _, text := range report {
		if !strings.Contains(o.report, text) {
			t.Errorf("the report does not contain %q:\n%s", text, o.report)
		}
	}
}

func TestAFailedTestIsRepeatedOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles packages")
	}
	for _, test := range []struct {
		name   string
		runs   map[string]int
		flags  []string
		passed bool
		report []string
	}{
		{name: "TestFlaky", runs: map[string]int{"TestFlaky": 2}, passed: true, report: []string{
			"FLAKY: ", "testdata/plain: TestFlaky\n", "the first output",
		}},
		{name: "TestSubtests", runs: map[string]int{
			"TestSubtests/docs/a.md": 2, "TestSubtests/docs/a.mdx": 1,
		}, passed: true, report: []string{"testdata/plain: TestSubtests/docs/a.md\n", "the first output"}},
		{name: "TestTwice", runs: map[string]int{"TestTwice": 2}},
		{name: "TestSkippedLater", runs: map[string]int{"TestSkippedLater": 2}},
		{name: "TestSubtestMissingLater", runs: map[string]int{"TestSubtestMissingLater": 2}},
		{name: "TestPanic", runs: map[string]int{"TestPanic": 1}},
		{name: "TestExit", runs: map[string]int{"TestExit": 1}},
		{name: "TestOtherProcess", runs: map[string]int{"TestOtherProcess": 1}},
		{name: "TestTimeout", runs: map[string]int{"TestTimeout": 1}, flags: []string{"-timeout=1s"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := goTest(t, "plain", append([]string{"-run=^" + test.name + "$"}, test.flags...))
			o.expect(t, test.passed, test.report...)
			for name, want := range test.runs {
				if got := o.ran(t, name); got != want {
					t.Errorf("%s ran %d times, not %d\n%s", name, got, want, o.output)
				}
			}
		})
	}
}

func TestAllFailedTestsMustPassTheSecondTime(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles packages")
	}
	o := goTest(t, "plain", []string{"-run=^(TestFlaky|TestTwice)$"})
	o.expect(t, false)
	for _, text := range []string{"the first output", "output 1", "output 2"} {
		if !strings.Contains(o.output, text) {
			t.Errorf("the output does not contain %q:\n%s", text, o.output)
		}
	}
}

func TestAFailedSpecIsRepeatedOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles packages")
	}
	o := goTest(t, "specs", []string{"-ginkgo.focus=is flaky"})
	o.expect(t, true, "FLAKY: a suite: a spec that is flaky\n", "the first failure", "output 1")
	if strings.Contains(o.report, "output 2") {
		t.Errorf("the report contains the output of the second attempt:\n%s", o.report)
	}
	o = goTest(t, "specs", []string{"-ginkgo.focus=twice"})
	o.expect(t, false)
	if strings.Contains(o.output, "attempt 3") || !strings.Contains(o.output, "failure 2") {
		t.Errorf("the spec did not run twice:\n%s", o.output)
	}
}

func TestAPanicOrASkippedSecondAttemptIsAFailure(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles packages")
	}
	for focus, first := range map[string]string{
		"panics at first": "the first panic", "is skipped later": "the first failure",
	} {
		o := goTest(t, "specs", []string{"-ginkgo.focus=" + focus})
		o.expect(t, false)
		if !strings.Contains(o.output, "the second time: a spec that "+focus) || !strings.Contains(o.output, first) {
			t.Errorf("%s: the output does not have the first failure:\n%s", focus, o.output)
		}
		if n := strings.Count(o.output, "Running Suite"); n != 1 {
			t.Errorf("%s: the suite ran %d times:\n%s", focus, n, o.output)
		}
	}
}

func TestOnlyTestsAndSpecsAreRepeated(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles packages")
	}
	o := goTest(t, "specs", []string{"-ginkgo.focus=passes"}, "FAIRLEAD_TEST_BROKEN=1")
	o.expect(t, false)
	if n := strings.Count(o.output, "Running Suite"); n != 1 {
		t.Errorf("the suite ran %d times:\n%s", n, o.output)
	}
}

func TestNothingIsRepeatedWithoutAFolder(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles packages")
	}
	o := goTest(t, "plain", []string{"-run=^TestFlaky$"}, "FAIRLEAD_TEST_FLAKY=")
	o.expect(t, false)
	if got := o.ran(t, "TestFlaky"); got != 1 {
		t.Errorf("the test ran %d times", got)
	}
	goTest(t, "specs", []string{"-ginkgo.focus=is flaky"}, "FAIRLEAD_TEST_FLAKY=").expect(t, false)
}
