// Package chart_test installs the operator by its chart, with Helm and with Fairlead itself. It runs the real program
// as the service account of the chart, with the flags of the chart.
package chart_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/test/program"
	"github.com/fairlead-io/fairlead/test/repeat"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

const (
	root = "../.."
	// release and system are the names in the documentation. The operator's objects have the name of the release.
	release, system = "fairlead-operator", "fairlead-system"
)

var (
	cluster  *testcluster.Cluster
	admin    client.Client
	programs string
	// home is an empty home folder, so that no personal configuration has an effect.
	home string
)

func TestChart(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a cluster")
	}
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(time.Minute)
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	EnforceDefaultTimeoutsWhenUsingContexts()
	repeat.Specs(t, "The chart")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	buildPrograms(ctx)
	home = GinkgoT().TempDir()
	cluster = testcluster.StartFor(GinkgoTB(), testcluster.Options{Nodes: 1, Audit: true})
	scheme := runtime.NewScheme()
	Expect(errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme))).To(Succeed())
	var err error
	admin, err = client.New(cluster.Config(), client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	Expect(admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: system, Labels: restricted}})).
		To(Succeed())
}, NodeTimeout(10*time.Minute))

// restricted are labels of a namespace that refuses pods below the strictest Pod Security Standard.
var restricted = map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}

// buildPrograms builds the tested programs.
func buildPrograms(ctx context.Context) {
	GinkgoHelper()
	var err error
	programs, err = filepath.Abs(filepath.Join(root, "bin", "e2e"))
	Expect(err).NotTo(HaveOccurred())
	Expect(program.Build(ctx, root, programs+"/", "./cmd/...")).To(Succeed())
	// The result also depends on the files of the chart.
	Expect(filepath.WalkDir(filepath.Join(root, "config", "chart"), func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			_, err = os.ReadFile(path)
		}
		return err
	})).To(Succeed())
}

// run runs a program until it ends, and returns its standard output.
func run(ctx context.Context, program string, args ...string) (string, error) {
	var out, complaints bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "KUBECONFIG=" + cluster.Kubeconfig()}
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%w: %s", err, complaints.String())
	}
	return out.String(), nil
}

func helm(ctx context.Context, args ...string) string {
	GinkgoHelper()
	out, err := run(ctx, filepath.Join(root, "bin", "helm"), append(args, "--namespace", system)...)
	Expect(err).NotTo(HaveOccurred())
	return out
}

// install installs the chart. The definition of components may exist already, if another spec has installed it in
// another way.
func install(ctx context.Context, from string, args ...string) (notes string) {
	GinkgoHelper()
	return helm(ctx, append([]string{"install", release, from, "--take-ownership"}, args...)...)
}

// credentials writes a kubeconfig with a token of the operator's service account, which has the same rights as the
// operator's pod.
func credentials(ctx context.Context) string {
	GinkgoHelper()
	request := &authenticationv1.TokenRequest{}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: release}}
	Expect(admin.SubResource("token").Create(ctx, account, request)).To(Succeed())
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: cluster.Config().Host, CertificateAuthorityData: authority()}
	config.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: request.Status.Token}
	config.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	config.CurrentContext = "x"
	path := filepath.Join(GinkgoT().TempDir(), "kubeconfig")
	Expect(clientcmd.WriteToFile(*config, path)).To(Succeed())
	return path
}

func authority() []byte {
	GinkgoHelper()
	tls := cluster.Config().TLSClientConfig
	if len(tls.CAData) > 0 {
		return tls.CAData
	}
	content, err := os.ReadFile(tls.CAFile)
	Expect(err).NotTo(HaveOccurred())
	return content
}

// start runs the operator with the flags of the Deployment, but with free ports in its addresses. The operator ends
// with the spec.
func start(ctx context.Context, kubeconfig string) {
	GinkgoHelper()
	launch(append(deployed(ctx), "--kubeconfig="+kubeconfig, "--metrics-bind-address=0",
		"--health-probe-bind-address=0")...)
}

// deployed returns the flags that the chart sets for the operator.
func deployed(ctx context.Context) []string {
	GinkgoHelper()
	deployment := &appsv1.Deployment{}
	Expect(admin.Get(ctx, client.ObjectKey{Namespace: system, Name: release}, deployment)).To(Succeed())
	return deployment.Spec.Template.Spec.Containers[0].Args
}

func launch(args ...string) (stop func()) {
	GinkgoHelper()
	command := exec.Command(filepath.Join(programs, "fairlead-operator"), args...)
	// As in the container, the operator has no folder to write to.
	command.Env = []string{"HOME=/nowhere", "TMPDIR=/nowhere"}
	command.Stdout, command.Stderr = GinkgoWriter, GinkgoWriter
	Expect(command.Start()).To(Succeed())
	ended := false
	stop = func() {
		GinkgoHelper()
		if ended {
			return
		}
		ended = true
		Expect(command.Process.Signal(syscall.SIGTERM)).To(Succeed())
		Expect(command.Wait()).To(Succeed())
	}
	DeferCleanup(func() { stop() })
	return stop
}

// status returns the state of a component, and its condition Ready if it is for the current generation.
func status(ctx context.Context, namespace, name string) func() (string, error) {
	return func() (string, error) {
		c := &v1alpha1.Component{}
		if err := admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, c); err != nil {
			return "", err
		}
		ready := meta.FindStatusCondition(c.Status.Conditions, metav1alpha1.ConditionReady)
		if ready == nil || ready.ObservedGeneration != c.Generation {
			return "", nil
		}
		return fmt.Sprintf("%s %s: %s", c.Status.State, ready.Reason, ready.Message), nil
	}
}

// details returns the result of status, and the complete messages of the dependents that the component waits for.
func details(ctx context.Context, namespace, name string) func() (string, error) {
	return func() (string, error) {
		text, err := status(ctx, namespace, name)()
		if err != nil || text == "" {
			return text, err
		}
		c := &v1alpha1.Component{}
		err = admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, c)
		for _, w := range c.Status.Waiting {
			text += "\n" + w.Message
		}
		return text, err
	}
}
