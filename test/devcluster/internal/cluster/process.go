package cluster

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync/atomic"
	"syscall"
	"time"
)

// DiedError means that a component ended without being stopped.
type DiedError struct {
	Component string
	State     string
	Log       string
}

func (e DiedError) Error() string {
	return fmt.Sprintf("%s ended (%s); see its log %s", e.Component, e.State, e.Log)
}

// processes starts components and stops them together. The components end with this process, even if it is killed.
type processes struct {
	executable string
	folder     Folder
	requests   chan startRequest
	// died receives an error for each component that ends, except replaced components. Its buffer is large enough for all
	// components.
	died    chan error
	running []*process
}

// process is a started component.
type process struct {
	component

	command *exec.Cmd
	// replaced is set if the process is stopped because another process replaces it.
	replaced atomic.Bool
	// ended is closed when the process has ended.
	ended chan struct{}
}

// component is a program in this binary, and its arguments.
type component struct {
	name      string
	arguments []string
}

type startRequest struct {
	command *exec.Cmd
	result  chan error
}

// newProcesses checks that the executable exists, so that a missing executable is not reported as a failed component.
func newProcesses(executable string, folder Folder) (*processes, error) {
	if _, err := exec.LookPath(executable); err != nil {
		return nil, NewUsageError("the cluster's own program is missing: %v", err)
	}
	set := &processes{executable: executable, folder: folder, requests: make(chan startRequest), died: make(chan error, 8)}
	go startOnOneThread(set.requests)
	return set, nil
}

// startOnOneThread starts commands on a thread that lives as long as this process, because requests is never closed.
// Linux sends the parent-death signal when the *thread* that started the child ends, and the Go runtime may end any
// other thread.
func startOnOneThread(requests <-chan startRequest) {
	runtime.LockOSThread()
	for request := range requests {
		request.result <- request.command.Start()
	}
}

// startAll starts components in the given order. If a component fails to start, the earlier components run until stop
// is called.
func (p *processes) startAll(components ...component) error {
	for _, next := range components {
		if err := p.start(next); err != nil {
			return fmt.Errorf("start %s: %w", next.name, err)
		}
	}
	return nil
}

// start starts a component, and writes its output to its log file.
func (p *processes) start(next component) error {
	path := p.folder.log(next.name)
	log, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // The child process has its own file handle.

	command := &exec.Cmd{
		Path:   p.executable,
		Args:   append([]string{next.name}, next.arguments...),
		Dir:    p.folder.path,
		Env:    environment(p.folder),
		Stdout: log,
		Stderr: log,
		SysProcAttr: &syscall.SysProcAttr{
			Pdeathsig: syscall.SIGKILL,
			// The child is in its own process group: Ctrl-C reaches only this process, which then stops the components.
			Setpgid: true,
		},
	}
	request := startRequest{command: command, result: make(chan error, 1)}
	p.requests <- request
	if err := <-request.result; err != nil {
		return err
	}
	started := &process{component: next, command: command, ended: make(chan struct{})}
	p.running = append(p.running, started)
	go func() {
		defer close(started.ended)
		if state := endOf(command); !started.replaced.Load() {
			p.died <- DiedError{Component: next.name, State: state, Log: path}
		}
	}()
	return nil
}

// restart kills a component and starts it again. It returns the time at which the previous process had ended.
func (p *processes) restart(name string) (killed time.Time, err error) {
	i := slices.IndexFunc(p.running, func(running *process) bool { return running.name == name })
	if i < 0 {
		return killed, fmt.Errorf("restart %s: the component does not run", name)
	}
	previous := p.running[i]
	previous.replaced.Store(true)
	if err := previous.command.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return killed, fmt.Errorf("restart %s: %w", name, err)
	}
	<-previous.ended
	p.running = slices.Delete(p.running, i, i+1)
	return time.Now(), p.startAll(previous.component)
}

// stop kills all components in the reverse order of their start, and returns when they have ended. They need no
// graceful end, because the data is not used again.
func (p *processes) stop() error {
	var problems []error
	for _, running := range slices.Backward(p.running) {
		if err := running.command.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			problems = append(problems, fmt.Errorf("stop %s: %w", running.name, err))
		}
	}
	for _, running := range p.running {
		<-running.ended
	}
	return errors.Join(problems...)
}

func endOf(command *exec.Cmd) string {
	if err := command.Wait(); err != nil {
		return err.Error()
	}
	return "exit status 0"
}

// environment returns an environment for the components without settings of the caller (ETCD_*, KWOK_*, KUBECONFIG,
// proxies, the configuration of kwok in the home folder).
func environment(folder Folder) []string {
	environment := []string{
		"HOME=" + folder.file(kwokFolder),
		// What names no authority trusts that of the cluster: a webhook, for example.
		"SSL_CERT_FILE=" + folder.file(pkiFolder, "ca.crt"),
	}
	for _, name := range []string{"PATH", "TMPDIR", "GOMAXPROCS"} {
		if value, found := os.LookupEnv(name); found {
			environment = append(environment, name+"="+value)
		}
	}
	return environment
}

// Executable returns the path of the running program.
func Executable() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program's file: %w", err)
	}
	return filepath.Clean(path), nil
}
