package tenancy_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/generator"
	helmgenerator "github.com/fairlead-io/fairlead/pkg/generator/helm"
)

const (
	// release and system are the names in the documentation. The operator's objects have the name of the release.
	release, system = "fairlead-operator", "fairlead-system"
	// operatorUser is the user name of the operator's service account.
	operatorUser = "system:serviceaccount:" + system + ":" + release
	// operatorMemory is the limit of the pod without the memory of two child processes.
	operatorMemory = 1 << 30
	// crashLoopTimeout is longer than an operator needs to render all components.
	crashLoopTimeout = time.Minute
)

// folder contains the files of the operators until the suite ends.
var folder string

// installChart applies the objects of the chart with its default values.
func installChart(ctx context.Context) {
	GinkgoHelper()
	files := os.DirFS(filepath.Join(*checkoutFlag, "config", "chart"))
	chart, err := helmgenerator.New(files, helmgenerator.Options{AnnotationPrefix: "fairlead.io"})
	Expect(err).NotTo(HaveOccurred())
	objects, err := chart.Generate(ctx, generator.Request{
		Name: release, Namespace: system, Revision: 1, Parameters: map[string]any{},
		Capabilities: generator.Capabilities{Version: version.Info{GitVersion: "v1.36.3"}},
	})
	Expect(err).NotTo(HaveOccurred())
	for _, object := range objects {
		data, ok := object.(*unstructured.Unstructured)
		Expect(ok).To(BeTrue())
		data.SetAnnotations(nil)
		applied := client.ApplyConfigurationFromUnstructured(data)
		Expect(admin.Apply(ctx, applied, client.ForceOwnership, client.FieldOwner("test"))).To(Succeed())
	}
}

// process is an operator that runs.
type process struct {
	command *exec.Cmd
	log     string
	done    chan struct{}
}

// startOperator runs the operator with the flags of the Deployment, but with free ports, as the service account of the
// Deployment, and with the memory of the operator's share of the pod. More flags may be given.
func startOperator(ctx context.Context, flags ...string) *process {
	GinkgoHelper()
	deployment := &appsv1.Deployment{}
	Expect(admin.Get(ctx, client.ObjectKey{Namespace: system, Name: release}, deployment)).To(Succeed())
	container := deployment.Spec.Template.Spec.Containers[0]
	arguments := append(container.Args, "--kubeconfig="+credentials(ctx),
		"--metrics-bind-address=0", "--health-probe-bind-address=0")
	arguments = append(arguments, flags...)
	// An operator that crashed has not released its Lease.
	lease := &coordinationv1.Lease{ObjectMeta: named(system, release)}
	Expect(client.IgnoreNotFound(admin.Delete(ctx, lease))).To(Succeed())
	log, err := os.CreateTemp(folder, "log")
	Expect(err).NotTo(HaveOccurred())
	p := &process{command: exec.Command(*operatorFlag, arguments...), log: log.Name(), done: make(chan struct{})}
	// As in the container, the operator has no folder to write to.
	p.command.Env = []string{"HOME=/nowhere", "TMPDIR=/nowhere", fmt.Sprintf("GOMEMLIMIT=%d", *memoryFlag/10*9)}
	p.command.Stdout, p.command.Stderr = log, log
	Expect(p.command.Start()).To(Succeed())
	Expect(log.Close()).To(Succeed())
	Expect(container.Resources.Limits.Memory().Value()).To(BeNumerically(">=", operatorMemory))
	bound := unix.Rlimit{Cur: *memoryFlag, Max: *memoryFlag}
	Expect(unix.Prlimit(p.command.Process.Pid, unix.RLIMIT_DATA, &bound, nil)).To(Succeed())
	go func() {
		_ = p.command.Wait() // The state of the process has the cause.
		close(p.done)
	}()
	return p
}

// credentials writes a kubeconfig with a token of the operator's service account.
func credentials(ctx context.Context) string {
	GinkgoHelper()
	request := &authenticationv1.TokenRequest{}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: release}}
	Expect(admin.SubResource("token").Create(ctx, account, request)).To(Succeed())
	path := filepath.Join(folder, "kubeconfig")
	config := kubeconfigOf(cluster.Config().Host, authority(), &clientcmdapi.AuthInfo{Token: request.Status.Token})
	Expect(os.WriteFile(path, config, 0o600)).To(Succeed())
	return path
}

// authority returns the certificate authority of the cluster.
func authority() []byte {
	GinkgoHelper()
	admins := cluster.Config()
	Expect(rest.LoadTLSFiles(admins)).To(Succeed())
	return admins.CAData
}

// kubeconfigOf returns a kubeconfig for a server with a certificate authority.
func kubeconfigOf(server string, authority []byte, user *clientcmdapi.AuthInfo) []byte {
	GinkgoHelper()
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: authority}
	config.AuthInfos["u"] = user
	config.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	config.CurrentContext = "x"
	data, err := clientcmd.Write(*config)
	Expect(err).NotTo(HaveOccurred())
	return data
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// alive returns an error that ends a poll if the operator has ended.
func (p *process) alive() error {
	if !p.ended() {
		return nil
	}
	return StopTrying(fmt.Sprintf("the operator ended: %s\n%s", p.command.ProcessState, p.crash()))
}

func (p *process) expectAlive() {
	GinkgoHelper()
	Expect(p.alive()).To(Succeed())
}

// stop ends the operator like the kubelet.
func (p *process) stop() {
	if !p.ended() {
		_ = p.command.Process.Signal(syscall.SIGTERM)
		<-p.done
	}
}

// restart stops the operator and starts another operator, with more flags if they are given.
func restart(ctx context.Context, flags ...string) {
	GinkgoHelper()
	operator.expectAlive()
	operator.stop()
	operator = startOperator(ctx, flags...)
}

// cause matches the lines in which the Go runtime says why it ends a program.
var cause = regexp.MustCompile(`^(runtime: |fatal error: |panic: |goroutine stack exceeds|signal: )`)

// crash returns the lines of the log in which the Go runtime says why the operator ended.
func (p *process) crash() string {
	file, err := os.Open(p.log)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = file.Close() }()
	var lines []string
	for scanner := bufio.NewScanner(file); scanner.Scan() && len(lines) < 5; {
		if cause.Match(scanner.Bytes()) {
			lines = append(lines, scanner.Text())
		}
	}
	return strings.Join(lines, "\n")
}

// lackedMemory reports whether the log says that a component waits for memory.
func (p *process) lackedMemory(namespace, name string) bool {
	GinkgoHelper()
	text, err := os.ReadFile(p.log)
	Expect(err).NotTo(HaveOccurred())
	component := fmt.Sprintf(`"Component":{"name":%q,"namespace":%q}`, name, namespace)
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, "waits for memory") && strings.Contains(line, component) {
			return true
		}
	}
	return false
}

// peak returns the maximum resident memory of the operator in MiB.
func (p *process) peak() int64 {
	if p.ended() {
		usage, _ := p.command.ProcessState.SysUsage().(*syscall.Rusage)
		return usage.Maxrss >> 10
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.command.Process.Pid))
	if err != nil {
		return 0
	}
	_, text, _ := strings.Cut(string(status), "VmHWM:")
	kib, _ := strconv.ParseInt(strings.Fields(text + " 0")[0], 10, 64)
	return kib >> 10
}

// reportOperator adds the peak of the operator's memory to the report and, if the operator ended, the cause.
func reportOperator() {
	AddReportEntry("peak of the operator's memory", fmt.Sprintf("%d MiB", operator.peak()))
	if operator.ended() {
		AddReportEntry("the operator ended", fmt.Sprintf("%s\n%s", operator.command.ProcessState, operator.crash()))
	}
}

// reportCrashLoop starts the operator again while the components of an attack exist, and reports whether it ends again.
func reportCrashLoop(ctx context.Context) {
	GinkgoHelper()
	operator = startOperator(ctx)
	select {
	case <-operator.done:
		AddReportEntry("the next operator ended", fmt.Sprintf("%s\n%s", operator.command.ProcessState, operator.crash()))
	case <-time.After(crashLoopTimeout):
		AddReportEntry("the next operator goes on")
	}
}
