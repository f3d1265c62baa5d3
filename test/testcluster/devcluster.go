package testcluster

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const modulePath = "github.com/fairlead-io/fairlead"

// stopTimeout is the maximum time until the dev cluster ends; after that it is killed. It normally ends in a tenth of a
// second.
const stopTimeout = 10 * time.Second

// restartedLine is the line that the dev cluster prints after a restart of the API server, as a layout for time.Parse.
const restartedLine = "ready again; the API server was killed at " + time.RFC3339Nano

// devCluster is a running process of bin/devcluster.
type devCluster struct {
	executable string
	dir        string
	command    *exec.Cmd
	stderr     bytes.Buffer
	// restarted receives the line that the dev cluster prints after each restart of the API server.
	restarted chan string
	// ended is closed when the process has ended. After that, waitError and stderr may be read.
	ended     chan struct{}
	waitError error
}

func (c *Cluster) startDevCluster(ctx context.Context, options Options) error {
	executable, err := findDevCluster()
	if err != nil {
		return err
	}
	dev := &devCluster{executable: executable, dir: c.dir, restarted: make(chan string, 1), ended: make(chan struct{})}
	if err := dev.start(ctx, options); err != nil {
		return err
	}
	c.backend = dev
	return nil
}

// programVariable is an environment variable with the path of the dev cluster's program, for tests of other projects.
const programVariable = "FAIRLEAD_DEVCLUSTER"

// findDevCluster returns the path of the program in the environment variable or, if it is not set, in the folder bin of
// the project's root, which is above the working directory.
func findDevCluster() (string, error) {
	if named := os.Getenv(programVariable); named != "" {
		executable, err := exec.LookPath(named)
		if err != nil {
			return "", fmt.Errorf("the program of the dev cluster in %s: %w", programVariable, err)
		}
		return executable, nil
	}
	working, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the project's root: %w", err)
	}
	for dir := working; ; dir = filepath.Dir(dir) {
		if isModuleRoot(dir) {
			executable := filepath.Join(dir, "bin", "devcluster")
			if _, err := exec.LookPath(executable); err != nil {
				return "", fmt.Errorf("the dev cluster is not built, run 'make cluster': %w", err)
			}
			return executable, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no folder above %s holds the module %s", working, modulePath)
		}
	}
}

func isModuleRoot(dir string) bool {
	content, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return false
	}
	firstLine, _, _ := strings.Cut(string(content), "\n")
	return strings.TrimSpace(firstLine) == "module "+modulePath
}

// start waits until the cluster prints that it is ready. The context ends only the start.
func (d *devCluster) start(ctx context.Context, options Options) error {
	arguments := []string{"up", "--dir", d.dir, "--nodes", strconv.Itoa(options.Nodes)}
	if options.Audit {
		arguments = append(arguments, "--audit")
	}
	if options.Cloud {
		arguments = append(arguments, "--cloud")
	}
	if options.Echo {
		arguments = append(arguments, "--echo")
	}
	if options.NoControllers {
		arguments = append(arguments, "--no-controllers")
	}
	d.command = exec.Command(d.executable, arguments...)
	d.command.Stderr = &d.stderr
	d.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	stdout, err := d.command.StdoutPipe()
	if err != nil {
		return fmt.Errorf("output of the dev cluster: %w", err)
	}
	if err := startOnLastingThread(d.command); err != nil {
		return fmt.Errorf("start the dev cluster: %w", err)
	}
	announced := make(chan bool, 1)
	go func() {
		// This reads a line, or the end of the output if the process fails.
		lines := bufio.NewScanner(stdout)
		announced <- lines.Scan()
		for lines.Scan() {
			d.restarted <- lines.Text()
		}
		d.waitError = d.command.Wait()
		close(d.ended)
	}()
	select {
	case ready := <-announced:
		if ready {
			return nil
		}
		<-d.ended
		return fmt.Errorf("the dev cluster did not start: %s", d.lastWords())
	case <-ctx.Done():
		return errors.Join(context.Cause(ctx), d.stop())
	}
}

// restartAPIServer restarts the API server, and reads the time from the line that the dev cluster prints afterwards.
func (d *devCluster) restartAPIServer(ctx context.Context) (killed time.Time, err error) {
	if err := d.command.Process.Signal(syscall.SIGUSR1); err != nil {
		return killed, err
	}
	select {
	case line := <-d.restarted:
		return time.Parse(restartedLine, line)
	case <-d.ended:
		return killed, fmt.Errorf("the dev cluster ended: %s", d.lastWords())
	case <-ctx.Done():
		return killed, context.Cause(ctx)
	}
}

func (d *devCluster) stop() error {
	select {
	case <-d.ended:
		return fmt.Errorf("the dev cluster ended by itself: %s", d.lastWords())
	default:
	}
	if err := d.command.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop the dev cluster: %w", err)
	}
	select {
	case <-d.ended:
	case <-time.After(stopTimeout):
		_ = d.command.Process.Kill() // The components end with the process.
		<-d.ended
	}
	if d.waitError != nil {
		return fmt.Errorf("the dev cluster stopped with an error: %s", d.lastWords())
	}
	return nil
}

// lastWords returns the output of the ended process.
func (d *devCluster) lastWords() string {
	if words := strings.TrimSpace(d.stderr.String()); words != "" {
		return words
	}
	return fmt.Sprint(d.command.ProcessState)
}

func (d *devCluster) user(ctx context.Context, name string, groups []string) ([]byte, error) {
	arguments := []string{"user", "--dir", d.dir, "--name", name}
	for _, group := range groups {
		arguments = append(arguments, "--group", group)
	}
	kubeconfig, err := exec.CommandContext(ctx, d.executable, arguments...).Output()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		return nil, errors.New(strings.TrimSpace(string(failed.Stderr)))
	}
	return kubeconfig, err
}

type startRequest struct {
	command *exec.Cmd
	result  chan error
}

// starter runs on one thread for as long as this process lives. Linux sends the parent-death signal when the *thread*
// that started a child ends, and the Go runtime may end any other thread.
var starter = sync.OnceValue(func() chan<- startRequest {
	requests := make(chan startRequest)
	go func() {
		runtime.LockOSThread()
		for request := range requests {
			request.result <- request.command.Start()
		}
	}()
	return requests
})

func startOnLastingThread(command *exec.Cmd) error {
	request := startRequest{command: command, result: make(chan error, 1)}
	starter() <- request
	return <-request.result
}
