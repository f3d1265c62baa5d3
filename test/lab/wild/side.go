package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/test/program"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

const (
	helmProgram     = "helm"
	fairleadProgram = "fairlead"
	operatorProgram = "fairlead-operator"
	operatorLog     = "operator.log"
	// agent is the user agent of the requests that this program sends itself.
	agent = "wild"
	// nodes is the number of nodes. It is sufficient for charts whose replicas must run on different nodes.
	nodes = 3
	// grace is the time in which a program must end after its own timeout has passed.
	grace = 15 * time.Second
	// failureLines is the number of lines that are kept of the output of a failed program.
	failureLines = 4
)

// tool is one of the two programs that install charts: Helm or Fairlead.
type tool struct {
	program string
	// arguments returns the command line of a step, without the flags that Helm and Fairlead have in common.
	arguments func(c chart, s step) []string
	// sends reports whether the program sent a request.
	sends       func(testcluster.Event) bool
	hasOperator bool
}

var helmTool = tool{
	program: helmProgram,
	arguments: func(c chart, s step) []string {
		switch s {
		case stepInstall:
			return []string{"install", c.Release, c.folder}
		case stepUninstall:
			return []string{"uninstall", c.Release}
		case stepUpgrade, stepRepeat, stepRollBack, stepThere, stepCheck, stepBack:
		}
		// Without --reset-values Helm would replace empty values by the values of the previous revision.
		return []string{"upgrade", c.Release, c.folder, "--reset-values"}
	},
	sends: func(e testcluster.Event) bool { return strings.HasPrefix(e.UserAgent, "Helm/") },
}

var fairleadTool = tool{
	program: fairleadProgram,
	arguments: func(c chart, s step) []string {
		if s == stepUninstall {
			return []string{"delete", c.Release}
		}
		return []string{"apply", c.Release, c.folder}
	},
	sends: func(e testcluster.Event) bool {
		return isOperator(e) || strings.HasPrefix(e.UserAgent, "fairlead/")
	},
	hasOperator: true,
}

func isOperator(e testcluster.Event) bool { return e.User == program.OperatorUser }

// isWrite reports whether a request of the operator changes an object of a chart.
func isWrite(e testcluster.Event) bool {
	switch e.Verb {
	case "create", "update", "patch", "delete", "deletecollection":
		return isOperator(e) && e.Subresource == "" && e.APIGroup != "fairlead.io" && e.Resource != "leases" &&
			e.Resource != "events" && !strings.Contains(e.RequestURI, "dryRun=")
	}
	return false
}

// side is a tool with its own cluster. The cluster is used again for the next chart if no object of the previous chart
// is left.
type side struct {
	tool
	observer

	// bin is the folder of the programs. home is the home folder of the programs.
	bin, home string
	cluster   *testcluster.Cluster
	admin     client.Client
	operator  *program.Operator
	// ended is the error if the operator ended although it was not stopped.
	ended atomic.Pointer[error]
	// pristine are the objects of the cluster before the first chart.
	pristine objects
}

// start boots the cluster if the side has no running cluster.
func (s *side) start(ctx context.Context) (err error) {
	if s.cluster != nil {
		return nil
	}
	if s.cluster, err = testcluster.Start(
		ctx,
		testcluster.Options{Nodes: nodes, Audit: true, Cloud: true, Echo: true},
	); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.stop())
		}
	}()
	if s.observer, err = newObserver(s.cluster.Config()); err != nil {
		return err
	}
	admin, identity, err := program.Furnish(ctx, s.cluster, agent)
	if err != nil {
		return err
	}
	s.admin = admin
	if s.hasOperator {
		if err := s.startOperator(ctx, identity); err != nil {
			return err
		}
	}
	s.pristine, err = s.objects(ctx)
	return err
}

// startOperator starts the operator as an administrator.
func (s *side) startOperator(ctx context.Context, identity testcluster.User) error {
	err := s.admin.Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "wild"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: program.OperatorUser}},
	})
	if err != nil {
		return err
	}
	s.ended.Store(nil)
	s.operator, err = program.StartProgram(filepath.Join(s.bin, operatorProgram), s.log(), []string{
		"--leader-elect", "--leader-election-namespace=" + program.OperatorNamespace,
		"--kubeconfig=" + identity.Kubeconfig, "--metrics-bind-address=0", "--health-probe-bind-address=0",
	}, func(cause error) { s.ended.Store(&cause) })
	if err != nil {
		return err
	}
	return program.WaitForLease(ctx, s.admin)
}

func (s *side) log() string { return filepath.Join(filepath.Dir(s.cluster.Kubeconfig()), operatorLog) }

// stop ends the operator and the cluster.
func (s *side) stop() error {
	var problems []error
	if s.operator != nil && s.ended.Load() == nil {
		problems = append(problems, s.operator.Stop())
	}
	if s.cluster != nil {
		problems = append(problems, s.cluster.Stop())
	}
	s.operator, s.cluster = nil, nil
	return errors.Join(problems...)
}

// run makes a step, and returns its outcome. The field before of the job contains the objects that do not belong to the
// chart.
func (s *side) run(ctx context.Context, c chart, next job) (outcome, error) {
	if _, _, err := s.cluster.DrainAudit(ctx); err != nil {
		return outcome{}, err
	}
	began := time.Now()
	failure := s.execute(ctx, append(s.arguments(c, next.step), next.flags(c)...), next.timeout)
	o := outcome{Step: next.step, Took: time.Since(began), Failure: failure}
	if cause := s.ended.Load(); cause != nil {
		o.Failure = strings.TrimSpace((*cause).Error() + "\n" + o.Failure)
	}
	if ctx.Err() != nil {
		return outcome{}, context.Cause(ctx)
	}
	observe := s.objects
	if next.step == stepUninstall {
		observe = s.settled
	}
	events, _, err := s.cluster.DrainAudit(ctx)
	if err != nil {
		return outcome{}, err
	}
	sent := events.Where(s.sends)
	o.Requests, o.Executed, o.Writes = len(sent), next.hooks.created(sent), len(sent.Where(isWrite))
	there, err := observe(ctx)
	if err != nil {
		return outcome{}, err
	}
	o.there = there.without(next.before)
	if next.step != stepUninstall {
		o.there = o.there.ofChart()
	}
	o.Objects = len(o.there)
	return o, nil
}

// job is a step that a side has to make.
type job struct {
	step    step
	values  string
	timeout time.Duration
	hooks   hooks
	// before are the objects that existed before the chart was installed.
	before objects
}

func (j job) flags(c chart) []string {
	flags := []string{"--namespace", c.Namespace, "--wait", "--timeout", j.timeout.String()}
	if j.step != stepUninstall {
		flags = append(flags, "--values", j.values)
	}
	return flags
}

// execute runs the program with an own home folder. If the program fails, execute returns the end of its output.
func (s *side) execute(ctx context.Context, arguments []string, timeout time.Duration) (failure string) {
	return execute(
		ctx,
		filepath.Join(s.bin, s.program),
		append(arguments, "--kubeconfig", s.cluster.Kubeconfig()),
		s.home,
		timeout,
	)
}

func execute(
	ctx context.Context,
	executable string,
	arguments []string,
	home string,
	timeout time.Duration,
) (failure string) {
	return executeIn(ctx, executable, arguments, environment{
		variables: []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")},
	}, timeout)
}

// environment contains the folder and the variables of a program.
type environment struct {
	dir       string
	variables []string
}

// executeIn runs a program. If the program fails, executeIn returns the end of its output.
func executeIn(
	ctx context.Context,
	executable string,
	arguments []string,
	in environment,
	timeout time.Duration,
) (failure string) {
	ctx, cancel := context.WithTimeout(ctx, timeout+grace)
	defer cancel()
	var output bytes.Buffer
	command := exec.CommandContext(ctx, executable, arguments...)
	command.Dir, command.Env = in.dir, in.variables
	command.Stdout, command.Stderr = &output, &output
	// Ctrl-C must reach only this program, which then ends the context of the command. The programs that a shell started
	// end with it.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	err := command.Run()
	if err == nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(output.String()), "\n")
	text := strings.Join(lines[max(0, len(lines)-failureLines):], "\n")
	if ctx.Err() != nil {
		return fmt.Sprintf("not ended after %s: %s", timeout+grace, text)
	}
	return fmt.Sprintf("%v: %s", err, text)
}

// createNamespace creates the namespace of a chart.
func (s *side) createNamespace(ctx context.Context, name string) error {
	err := s.admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	return client.IgnoreAlreadyExists(err)
}

// sweep deletes all objects that a chart has left, so that the next chart finds the cluster in its first state. If
// objects cannot be deleted, sweep stops the cluster.
func (s *side) sweep(ctx context.Context) error {
	if s.cluster == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	for s.ended.Load() == nil && ctx.Err() == nil {
		now, err := s.objects(ctx)
		if err != nil {
			break
		}
		left := now.without(s.pristine)
		if len(left) == 0 {
			return nil
		}
		for _, key := range sortedIDs(left) {
			if left[key].GetDeletionTimestamp() == nil {
				err = errors.Join(err, s.remove(ctx, key, left))
			}
		}
		if err != nil {
			break
		}
		select {
		case <-ctx.Done():
		case <-time.After(settlePause):
		}
	}
	return s.stop()
}

func (s *side) remove(ctx context.Context, key id, left objects) error {
	object := left[key]
	policy := client.PropagationPolicy(metav1.DeletePropagationBackground)
	err := s.admin.Delete(ctx, object, policy, client.GracePeriodSeconds(0))
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
