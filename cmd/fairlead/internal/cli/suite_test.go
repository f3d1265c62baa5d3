package cli_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cli"
	"github.com/fairlead-io/fairlead/config"
	"github.com/fairlead-io/fairlead/internal/leader"
	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/test/gadget"
	"github.com/fairlead-io/fairlead/test/repeat"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

var (
	kube     *testcluster.Cluster
	k8s      client.Client
	sequence atomic.Int64
	// uninstalled is the result of a command before the custom resource definition of components was installed.
	uninstalled result
)

func TestCommandLine(t *testing.T) {
	klog.SetLogger(logr.Discard())
	ctrllog.SetLogger(logr.Discard())
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(time.Minute)
	// A spec that waits with its context for an output must not wait without end if the output never appears.
	EnforceDefaultTimeoutsWhenUsingContexts()
	SetDefaultEventuallyPollingInterval(20 * time.Millisecond)
	repeat.Specs(t, "command line")
}

func startCluster(ctx context.Context) {
	GinkgoHelper()
	kube = testcluster.StartFor(GinkgoTB(), testcluster.Options{Audit: true, NoControllers: true})
	uninstalled = fairlead(ctx, "default", "list")
	scheme, err := gadget.Scheme()
	Expect(err).NotTo(HaveOccurred())
	Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
	k8s, err = client.New(kube.Config(), client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	Expect(config.Install(ctx, k8s)).To(Succeed())
	holdLease(ctx, leader.DefaultNamespace, time.Now())
	renewLease()
	definitions, err := manifests.Decode("crd.yaml", gadget.CRD)
	Expect(err).NotTo(HaveOccurred())
	Expect(k8s.Create(ctx, definitions[0])).To(Succeed())
	Eventually(ctx, func() error { return k8s.List(ctx, &gadget.GadgetList{}) }).Should(Succeed())
}

// renewLease renews the Lease of the operator until the suite ends.
func renewLease() {
	GinkgoHelper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(5 * time.Second)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: leader.DefaultNamespace, Name: leader.Name}}
			base := client.MergeFrom(lease.DeepCopy())
			lease.Spec.RenewTime = new(metav1.NowMicro())
			// The next renewal follows soon. A spec that needs this one fails.
			_ = k8s.Patch(ctx, lease, base)
		}
	}()
	DeferCleanup(func() {
		cancel()
		<-done
	})
}

// holdLease creates a namespace, and in it the Lease of an operator that renewed it at a time.
func holdLease(ctx context.Context, namespace string, at time.Time, watched ...string) {
	GinkgoHelper()
	err := k8s.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	Expect(client.IgnoreAlreadyExists(err)).To(Succeed())
	lock, err := leader.New(ctx, kube.Config(), leader.Options{Namespace: namespace, Watched: watched})
	Expect(err).NotTo(HaveOccurred())
	Expect(lock.Create(ctx, resourcelock.LeaderElectionRecord{
		HolderIdentity: lock.Identity(), LeaseDurationSeconds: 15, RenewTime: metav1.NewTime(at),
	})).To(Succeed())
}

// onCluster returns the body of a container of specs that share a cluster.
func onCluster(body func()) func() {
	return func() {
		BeforeEach(func() {
			if testing.Short() {
				Skip("needs a cluster")
			}
		})
		body()
	}
}

var _ = BeforeSuite(func(ctx SpecContext) {
	if !testing.Short() {
		startCluster(ctx)
	}
})

// result is the exit code and the output of a command line.
type result struct {
	Code     int
	Out, Err string
}

// run executes a command line without flags for a cluster.
func run(ctx context.Context, args ...string) result {
	var out, err bytes.Buffer
	code := cli.Run(ctx, args, genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &err})
	return result{Code: code, Out: out.String(), Err: err.String()}
}

// connected adds the flags for the connection to the cluster. They precede args, so that a spec can override them.
func connected(namespace string, args ...string) []string {
	flags := []string{
		"fairlead", "--kubeconfig", kube.Kubeconfig(), "--cache-dir",
		filepath.Join(filepath.Dir(kube.Kubeconfig()), "cache"), "-n", namespace,
	}
	return append(flags, args...)
}

// fairlead executes a command line with the connection to the cluster.
func fairlead(ctx context.Context, namespace string, args ...string) result {
	return run(ctx, connected(namespace, args...)...)
}

// process is a running command line.
type process struct {
	out, err *gbytes.Buffer
	code     chan int
	stop     context.CancelFunc
}

func start(ctx context.Context, namespace string, args ...string) *process {
	ctx, cancel := context.WithCancel(ctx)
	p := &process{out: gbytes.NewBuffer(), err: gbytes.NewBuffer(), code: make(chan int, 1), stop: cancel}
	go func() {
		defer GinkgoRecover()
		p.code <- cli.Run(ctx, connected(namespace, args...),
			genericiooptions.IOStreams{In: strings.NewReader(""), Out: p.out, ErrOut: p.err})
	}()
	DeferCleanup(cancel)
	return p
}

// newNamespace returns a namespace for one spec.
func newNamespace(ctx context.Context) string {
	GinkgoHelper()
	name := "cli-" + strconv.FormatInt(sequence.Add(1), 10)
	Expect(k8s.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})).To(Succeed())
	return name
}

// folder writes files, given by name and content, to a new folder.
func folder(files ...string) string {
	GinkgoHelper()
	dir := GinkgoT().TempDir()
	for i := 0; i < len(files); i += 2 {
		path := filepath.Join(dir, files[i])
		Expect(os.MkdirAll(filepath.Dir(path), 0o700)).To(Succeed())
		Expect(os.WriteFile(path, []byte(files[i+1]), 0o600)).To(Succeed())
	}
	return dir
}

// shopIn returns the component "shop" of a namespace.
func shopIn(ctx context.Context, namespace string) *v1alpha1.Component {
	GinkgoHelper()
	c := &v1alpha1.Component{}
	Expect(k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "shop"}, c)).To(Succeed())
	return c
}

// report writes a status for the current generation of the component, in place of an operator.
func report(ctx context.Context, c *v1alpha1.Component, status metav1alpha1.Status) {
	GinkgoHelper()
	status.Reconciler, status.ObservedGeneration = "fairlead.io", c.Generation
	base := c.DeepCopy()
	c.Status = status
	Expect(k8s.Status().Patch(ctx, c, client.MergeFrom(base))).To(Succeed())
}

// readyCondition returns the conditions that an operator would set.
func readyCondition(value metav1.ConditionStatus, reason, message string) []metav1.Condition {
	return []metav1.Condition{{
		Type: metav1alpha1.ConditionReady, Status: value, Reason: reason, Message: message,
		LastTransitionTime: metav1.NewTime(time.Unix(1, 0)),
	}}
}

// requests returns the requests of the command line so far for resources of a namespace, from the audit log, without dry
// runs.
func requests(ctx context.Context, namespace string, resources ...string) testcluster.Events {
	GinkgoHelper()
	events, err := kube.AuditEvents(ctx)
	Expect(err).NotTo(HaveOccurred())
	return events.UserAgent("fairlead-cli/").Resource(resources...).
		Where(func(e testcluster.Event) bool { return e.Namespace == namespace && !isDryRun(e) })
}

func isDryRun(e testcluster.Event) bool { return strings.Contains(e.RequestURI, "dryRun=All") }
