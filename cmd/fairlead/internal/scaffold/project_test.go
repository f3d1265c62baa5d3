package scaffold_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/scaffold"
)

// root is the path of the checkout.
const root = "../../../.."

// shop returns the options of most tests.
func shop() scaffold.Options {
	return scaffold.Options{
		Group: "apps.example.com", Kind: "Shop", OperatorName: "shop-operator.example.com",
		Module:     "example.com/shop-operator",
		Interfaces: []scaffold.Interface{scaffold.InterfaceSuspend},
	}.WithDefaults()
}

// write writes a project to a new folder.
func write(t *testing.T, req scaffold.Request) string {
	t.Helper()
	if testing.Short() {
		t.Skip("this test needs the tools of a project")
	}
	program(t, "controller-gen")
	fairlead, err := scaffold.FindFairlead(root)
	if err != nil {
		t.Fatal(err)
	}
	req.Dir, req.Fairlead = filepath.Join(t.TempDir(), "project"), fairlead
	req.Report = func(line string) { t.Log(line) }
	project, err := scaffold.New(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	for _, note := range project.Notes {
		t.Log(note)
	}
	if err := project.Write(t.Context()); err != nil {
		t.Fatal(err)
	}
	return req.Dir
}

// program returns a program that make builds into bin.
func program(t *testing.T, name string) string {
	t.Helper()
	place, err := filepath.Abs(filepath.Join(root, "bin", name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(place); err != nil {
		t.Fatalf("run make bin/%s: %v", name, err)
	}
	return place
}

// makeIn runs a target of a project's Makefile, with the tools of this checkout.
func makeIn(t *testing.T, dir, target string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "make", "--no-print-directory", target,
		"CONTROLLER_GEN="+program(t, "controller-gen"), "GOLANGCI_LINT="+program(t, "golangci-lint"),
		"DEVCLUSTER="+program(t, "devcluster"))
	command.Dir = dir
	command.Env = append(os.Environ(), "MAKEFLAGS=", "MAKELEVEL=", "KUBEBUILDER_ASSETS=", "GOWORK=off")
	if output, err := command.CombinedOutput(); err != nil {
		t.Errorf("make %s: %v\n%s", target, err, output)
	} else {
		t.Logf("make %s:\n%s", target, output)
	}
}

// works checks that a new project passes its linter and its tests without a change.
func works(t *testing.T, dir string) {
	t.Helper()
	for _, target := range []string{"build", "verify", "lint", "test"} {
		makeIn(t, dir, target)
	}
	if output, err := exec.CommandContext(t.Context(), filepath.Join(dir, "bin", "shop-operator"), "--help").
		CombinedOutput(); err != nil ||
		!strings.Contains(string(output), "-leader-elect") {
		t.Errorf("the program does not print its flags: %v\n%s", err, output)
	}
}

func TestAProjectInGoBuildsAndPassesItsTestsAndBringsItsSampleToReady(t *testing.T) {
	works(t, write(t, scaffold.Request{Options: shop()}))
}

// The specs with the tag long also run the tests of such projects against a cluster.
func TestAProjectWithAllOptionsCompilesAndPassesItsUnitTests(t *testing.T) {
	o := shop()
	o.Kind, o.Resource, o.Client, o.External, o.Webhooks = "Sheep", "sheep", true, "Bucket", true
	o.Interfaces = scaffold.Interfaces
	o.Notice = scaffold.Notice{Owner: "Example Inc.", License: scaffold.DefaultLicense}
	o.Watched = []scaffold.Watched{{Version: "v1", Kind: "ConfigMap"}, {Group: "apps", Version: "v1", Kind: "Deployment"}}
	dir := write(t, scaffold.Request{Options: o})
	if generated := contentOf(t, dir, "api/v1alpha1/zz_generated.deepcopy.go"); !strings.Contains(generated, o.Header()) {
		t.Errorf("the generated code lacks the header: %s", generated)
	}
	for _, arguments := range [][]string{{"vet", "./..."}, {"test", "./internal/..."}} {
		command := exec.CommandContext(t.Context(), "go", arguments...)
		command.Dir, command.Env = dir, append(os.Environ(), "GOWORK=off")
		if output, err := command.CombinedOutput(); err != nil {
			t.Errorf("go %s: %v\n%s", strings.Join(arguments, " "), err, output)
		}
	}
}

// listening matches the flags for the addresses on which the program listens.
var listening = regexp.MustCompile(`"([a-z-]+-bind-address)"`)

func TestMakeRunLetsNobodyElseReachTheOperator(t *testing.T) {
	dir := filesOnly(t)
	flags := listening.FindAllStringSubmatch(contentOf(t, dir, "main.go"), -1)
	if len(flags) < 2 {
		t.Fatalf("the program has the flags %v", flags)
	}
	_, recipe, _ := strings.Cut(contentOf(t, dir, "Makefile"), "\nrun: ")
	recipe, _, _ = strings.Cut(recipe, "\n\n")
	for _, flag := range flags {
		if !regexp.MustCompile(`\s--` + flag[1] + `=127\.0\.0\.1:`).MatchString(recipe) {
			t.Errorf("--%s is not on the loopback interface: %s", flag[1], recipe)
		}
	}
}

// The Makefile gets a program that stands for the operator, and a go command that has nothing to build.
func TestMakeRunEndsTheOperatorWhenMakeIsTerminated(t *testing.T) {
	dir, fakes := filesOnly(t), t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o750); err != nil {
		t.Fatal(err)
	}
	started, ended := filepath.Join(dir, "started"), filepath.Join(dir, "ended")
	for file, script := range map[string]string{
		filepath.Join(fakes, "go"): "#!/bin/sh\nexit 0\n",
		filepath.Join(dir, "bin", "shop-operator"): "#!/bin/sh\ntrap 'touch ended; exit 0' TERM\ntouch started\n" +
			"while :; do sleep 0.1; done\n",
	} {
		if err := os.WriteFile(file, []byte(script), 0o700); err != nil { //nolint:gosec // The files are programs.
			t.Fatal(err)
		}
	}
	command := exec.CommandContext(t.Context(), "make", "run")
	command.Dir = dir
	command.Env = append(os.Environ(), "MAKEFLAGS=", "MAKELEVEL=", "PATH="+fakes+":"+os.Getenv("PATH"))
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	awaitFile(t, started)
	if err := command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = command.Wait() // make reports the signal.
	awaitFile(t, ended)
}

func awaitFile(t *testing.T, file string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(file); err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s does not exist", file)
		}
	}
}
