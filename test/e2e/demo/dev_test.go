package main

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/test/program"
)

// TestDevKeepsTheClusterWhenTheOperatorEnds kills the operator of "make dev", starts another one by the command that the
// program prints, and interrupts the program.
func TestDevKeepsTheClusterWhenTheOperatorEnds(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a cluster")
	}
	root := projectWith(t, "./cmd/fairlead-operator", "./test/e2e/demo")
	dev := startDev(t, root)
	kubeconfig := dev.find(`export KUBECONFIG=(\S+)`)
	pid, err := strconv.Atoi(dev.find(`\$ kill (\d+)`))
	if err != nil {
		t.Fatal(err)
	}
	command := dev.find(`\$ make build && (.*)`)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	dev.find(`(The cluster keeps running without an operator: the operator ended by itself: signal: killed)`)
	if again := dev.find(`\$ make build && (.*)`); again != command {
		t.Errorf("want the command %s again, got %s", command, again)
	}
	before := holder(t, kubeconfig)

	words := strings.Fields(command)
	operator := exec.Command(filepath.Join(root, words[0]), words[1:]...)
	if err := operator.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = operator.Process.Signal(syscall.SIGTERM)
		_ = operator.Wait()
	}()
	err = eventually(t.Context(), func(context.Context) error {
		if now := holder(t, kubeconfig); now == "" || now == before {
			return errors.New("no other operator holds the Lease")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	_ = dev.command.Process.Signal(os.Interrupt)
	dev.find(`(Ended; no process is left running\.)`)
	if err := dev.command.Wait(); err != nil {
		t.Errorf("want the exit code 0, got %v", err)
	}
}

// projectWith returns a folder with programs in its folder bin, as the project's root has them.
func projectWith(t *testing.T, packages ...string) string {
	t.Helper()
	const root = "../../.."
	cluster, err := filepath.Abs(filepath.Join(root, "bin", "devcluster"))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("FAIRLEAD_DEVCLUSTER", cluster)
	project := t.TempDir()
	if err := program.Build(t.Context(), root, filepath.Join(project, "bin")+"/", packages...); err != nil {
		t.Fatal(err)
	}
	return project
}

// dev is a running program with the flag -dev.
type dev struct {
	t       *testing.T
	command *exec.Cmd
	lines   chan string
}

func startDev(t *testing.T, project string) *dev {
	t.Helper()
	d := &dev{t: t, command: exec.Command(filepath.Join(project, "bin", "demo"), "--dev"), lines: make(chan string, 100)}
	d.command.Dir = project
	out, err := d.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	d.command.Stderr = d.command.Stdout
	if err := d.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.command.Process.Signal(syscall.SIGTERM) })
	go func() {
		defer close(d.lines)
		for scanner := bufio.NewScanner(out); scanner.Scan(); {
			d.lines <- scanner.Text()
		}
	}()
	return d
}

// find returns the first group of a pattern in the next line of the output that matches it.
func (d *dev) find(pattern string) string {
	d.t.Helper()
	wanted := regexp.MustCompile(pattern)
	limit := time.After(2 * time.Minute)
	for {
		select {
		case line, open := <-d.lines:
			if !open {
				d.t.Fatalf("the output ended without %s", pattern)
			}
			d.t.Log(line)
			if match := wanted.FindStringSubmatch(line); match != nil {
				return match[1]
			}
		case <-limit:
			d.t.Fatalf("no line of the output has %s", pattern)
		}
	}
}

// holder returns the identity in the Lease of the operator.
func holder(t *testing.T, kubeconfig string) string {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	if err := coordinationv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	admin, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	lease := &coordinationv1.Lease{}
	key := client.ObjectKey{Namespace: program.OperatorNamespace, Name: "fairlead-operator"}
	if err := admin.Get(t.Context(), key, lease); err != nil {
		t.Fatal(err)
	}
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}
