package main

import (
	"context"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

func TestTheAgentFollowsTheZonesOfItsCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("needs two clusters")
	}
	g := NewWithT(t)
	g.SetDefaultEventuallyTimeout(time.Minute)
	home := testcluster.StartFor(t, testcluster.Options{})
	far := testcluster.StartFor(t, testcluster.Options{Nodes: 2})
	mgr, err := newManager(home.Config(), ctrl.Options{Metrics: metricsserver.Options{BindAddress: "0"}})
	g.Expect(err).NotTo(HaveOccurred())
	k8s, err := client.New(home.Config(), client.Options{Scheme: mgr.GetScheme()})
	g.Expect(err).NotTo(HaveOccurred())
	there, err := client.New(far.Config(), client.Options{Scheme: mgr.GetScheme()})
	g.Expect(err).NotTo(HaveOccurred())
	definition, err := manifests.Decode("crd.yaml", crd)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(k8s.Create(t.Context(), definition[0])).To(Succeed())
	g.Eventually(func() error { return k8s.List(t.Context(), &MemberList{}) }).Should(Succeed())
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	defer func() {
		stop()
		g.Expect(<-ended).To(Succeed())
	}()

	user, err := far.User(ctx, "fleet", "system:masters")
	g.Expect(err).NotTo(HaveOccurred())
	kubeconfig, err := os.ReadFile(user.Kubeconfig)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(k8s.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "far"}, Data: map[string][]byte{"value": kubeconfig},
	})).To(Succeed())
	before := watchesOfNodes(t, far.Config())
	var members []*Member
	for _, name := range []string{"east", "west"} {
		members = append(members, &Member{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: MemberSpec{Kubeconfig: "far"},
		})
	}
	ready := func(member *Member) func() string {
		return func() string {
			g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(member), member)).To(Succeed())
			if c := meta.FindStatusCondition(member.Status.Conditions, "Ready"); c != nil {
				return string(c.Status) + " " + c.Message
			}
			return ""
		}
	}
	t.Log("two members of a cluster share a watch")
	for _, member := range members {
		g.Expect(k8s.Create(ctx, member)).To(Succeed())
		g.Eventually(ready(member)).Should(HavePrefix("True 2 dependents are ready"))
		g.Eventually(func() int { return watchesOfNodes(t, far.Config()) }).Should(Equal(before + 1))
	}

	t.Log("the zones of the nodes are an input, and the status shows them")
	var nodes corev1.NodeList
	g.Expect(there.List(ctx, &nodes)).To(Succeed())
	for i, zone := range []string{"north", "south"} {
		before := nodes.Items[i].DeepCopy()
		nodes.Items[i].Labels[corev1.LabelTopologyZone] = zone
		g.Expect(there.Patch(ctx, &nodes.Items[i], client.MergeFrom(before))).To(Succeed())
	}
	for _, member := range members {
		g.Eventually(func() int32 {
			var agent appsv1.Deployment
			key := client.ObjectKey{Namespace: agentNamespace, Name: "agent-" + member.Name}
			if err := there.Get(ctx, key, &agent); err != nil {
				return 0
			}
			return *agent.Spec.Replicas
		}).Should(Equal(int32(2)))
		g.Eventually(func() string { return ready(member)() + " " + member.Status.Zones }).
			Should(MatchRegexp("^True .* north,south$"))
	}

	t.Log("a change of another part of a node starts no pass")
	count := -1.0 // The first poll finds another number, so the second one comes a second later.
	g.Eventually(func() bool {
		before := count
		count = passes(t)
		return count == before
	}).WithPolling(time.Second).Should(BeTrue())
	for i := range nodes.Items {
		before := nodes.Items[i].DeepCopy()
		metav1.SetMetaDataAnnotation(&nodes.Items[i].ObjectMeta, "example.com/heartbeat", "now")
		g.Expect(there.Patch(ctx, &nodes.Items[i], client.MergeFrom(before))).To(Succeed())
	}
	g.Consistently(func() float64 { return passes(t) }).Should(Equal(count))

	t.Log("the watch goes with the last member of the cluster")
	for i, member := range members {
		g.Expect(k8s.Delete(ctx, member)).To(Succeed())
		g.Eventually(func() bool {
			return apierrors.IsNotFound(k8s.Get(ctx, client.ObjectKeyFromObject(member), member))
		}).Should(BeTrue())
		g.Eventually(func() int { return watchesOfNodes(t, far.Config()) }).Should(Equal(before + 1 - i))
	}
}

// passes returns the number of passes of the operator.
func passes(t *testing.T) (total float64) {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != "controller_runtime_reconcile_total" {
			continue
		}
		for _, metric := range family.GetMetric() {
			total += metric.GetCounter().GetValue()
		}
	}
	return total
}

// watchesOfNodes returns the number of open watches on the nodes of a cluster.
func watchesOfNodes(t *testing.T, config *rest.Config) int {
	t.Helper()
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	text, err := clientset.RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	open := 0
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "apiserver_longrunning_requests{") && strings.Contains(line, `resource="nodes"`) {
			fields := strings.Fields(line)
			count, err := strconv.ParseFloat(fields[len(fields)-1], 64)
			if err != nil {
				t.Fatal(err)
			}
			open += int(count)
		}
	}
	return open
}
