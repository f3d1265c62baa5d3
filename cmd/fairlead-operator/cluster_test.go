package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/config"
	"github.com/fairlead-io/fairlead/internal/leader"
	"github.com/fairlead-io/fairlead/internal/operator"
	"github.com/fairlead-io/fairlead/pkg/generator/isolate"
	"github.com/fairlead-io/fairlead/test/repeat"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

// runAsOperator is an environment variable. If it is set, the test binary runs the operator, so that no other binary
// must be linked.
const runAsOperator = "FAIRLEAD_TEST_RUN_AS_OPERATOR"

func TestMain(m *testing.M) {
	isolate.Main(operator.NewChildGenerator)
	// A package of controller-runtime, which is linked into tests only, creates this folder before main begins. A child
	// has no rights to create it.
	if err := os.MkdirAll("/tmp/kubebuilder-envtest", 0o750); err != nil {
		panic(err)
	}
	if os.Getenv(runAsOperator) != "" {
		main()
	}
	os.Exit(m.Run())
}

func TestOperator(t *testing.T) {
	if testing.Short() {
		t.Skip("these tests need a cluster")
	}
	RegisterFailHandler(Fail)
	EnforceDefaultTimeoutsWhenUsingContexts()
	repeat.Specs(t, "fairlead-operator")
}

// The ServiceAccount of config/rbac, and its user name in the API server.
const (
	operatorNamespace = "fairlead-system"
	operatorUser      = "system:serviceaccount:" + operatorNamespace + ":fairlead-operator"
)

var (
	cluster       *testcluster.Cluster
	administrator client.Client
	identity      testcluster.User
	// stopOperator ends the running operator.
	stopOperator func() error
)

var _ = BeforeSuite(func(ctx SpecContext) {
	cluster = testcluster.StartFor(GinkgoTB(), testcluster.Options{Nodes: 1, Audit: true})
	scheme := runtime.NewScheme()
	Expect(clientgoscheme.AddToScheme(scheme)).To(Succeed())
	Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
	var err error
	administrator, err = client.New(cluster.Config(), client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	Expect(config.Install(ctx, administrator)).To(Succeed())
	identity, err = cluster.User(ctx, operatorUser, "system:serviceaccounts", "system:serviceaccounts:"+operatorNamespace)
	Expect(err).NotTo(HaveOccurred())
	stopOperator = startOperator()
	DeferCleanup(func() error { return stopOperator() })
}, NodeTimeout(2*time.Minute))

// startOperator runs an operator in a separate process, with the identity of the operator's ServiceAccount. The
// returned function sends a signal like the kubelet, and returns the error with which the process ended.
func startOperator(args ...string) (stop func() error) {
	GinkgoHelper()
	return startOperatorWithLog(GinkgoWriter, args...)
}

// startOperatorWithLog is startOperator with another writer for the log.
func startOperatorWithLog(log io.Writer, args ...string) (stop func() error) {
	GinkgoHelper()
	args = append([]string{
		"--kubeconfig=" + identity.Kubeconfig, "--leader-elect", "--leader-election-namespace=" + operatorNamespace,
		"--metrics-bind-address=0", "--health-probe-bind-address=0", "--allow-address=127.0.0.0/8",
	}, args...)
	command := exec.Command(os.Args[0], args...)
	command.Env = append(os.Environ(), runAsOperator+"=1")
	command.Stdout, command.Stderr = GinkgoWriter, log
	Expect(command.Start()).To(Succeed())
	operatorPID = command.Process.Pid
	return func() error {
		if err := command.Process.Signal(syscall.SIGTERM); err != nil {
			return err
		}
		return command.Wait()
	}
}

// operatorPID is the process of the operator that was started last.
var operatorPID int

// restartOperator stops the running operator, and starts an operator with other arguments. After the spec, an operator
// without these arguments is started. Before an operator is stopped, restartOperator waits until this operator
// reconciles components: an operator that is stopped during its request for the Lease would block the Lease for some
// time.
func restartOperator(ctx context.Context, args ...string) {
	GinkgoHelper()
	replace := func(ctx context.Context, args ...string) {
		expectWork(ctx)
		Expect(stopOperator()).To(Succeed())
		stopOperator = startOperator(args...)
	}
	replace(ctx, args...)
	if len(args) > 0 {
		DeferCleanup(func(ctx SpecContext) {
			replace(ctx)
			expectWork(ctx)
		})
	}
}

// monitored is the manifest of a dependent that uses no values.
const monitored = "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {level: one}}"

// expectWork waits until the operator has reconciled a component.
func expectWork(ctx context.Context) {
	GinkgoHelper()
	component := createComponent(ctx, newNamespace(ctx), "work",
		v1alpha1.ComponentSpec{Source: inline("settings.yaml", monitored)})
	Eventually(status(ctx, component)).WithTimeout(soon).Should(HavePrefix("Ready Ready: "))
}

// leaseHolder returns the identity of the holder of the operator's Lease.
func leaseHolder(ctx context.Context) (string, error) {
	lease := &coordinationv1.Lease{}
	err := administrator.Get(ctx, client.ObjectKey{Namespace: operatorNamespace, Name: leader.Name}, lease)
	return ptr.Deref(lease.Spec.HolderIdentity, ""), err
}

// newNamespace creates a namespace for a spec.
func newNamespace(ctx context.Context) string {
	GinkgoHelper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "spec-"}}
	Expect(administrator.Create(ctx, namespace)).To(Succeed())
	return namespace.Name
}

// createComponent creates a component. The component is not deleted, because the cluster ends after the tests.
func createComponent(ctx context.Context, namespace, name string, spec v1alpha1.ComponentSpec) *v1alpha1.Component {
	GinkgoHelper()
	component := &v1alpha1.Component{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: spec}
	Expect(administrator.Create(ctx, component)).To(Succeed())
	return component
}

// change edits and updates the spec of a component.
func change(ctx context.Context, component *v1alpha1.Component, edit func(*v1alpha1.ComponentSpec)) {
	GinkgoHelper()
	Eventually(func() error {
		if err := administrator.Get(ctx, client.ObjectKeyFromObject(component), component); err != nil {
			return err
		}
		edit(&component.Spec)
		return administrator.Update(ctx, component)
	}).WithTimeout(soon).Should(Succeed())
}

// status returns a function that reads the state and the Ready condition of a component as one line.
func status(ctx context.Context, component *v1alpha1.Component) func() (string, error) {
	return func() (string, error) {
		current := &v1alpha1.Component{}
		if err := administrator.Get(ctx, client.ObjectKeyFromObject(component), current); err != nil {
			return "", err
		}
		ready := meta.FindStatusCondition(current.Status.Conditions, metav1alpha1.ConditionReady)
		if ready == nil || ready.ObservedGeneration != current.Generation {
			return "", nil
		}
		return fmt.Sprintf("%s %s: %s", current.Status.State, ready.Reason, ready.Message), nil
	}
}
