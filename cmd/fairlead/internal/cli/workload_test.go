package cli_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// kubelet answers the API server's requests for logs in place of a node, because this cluster runs no containers. The
// API server between the command line and the kubelet is a real one.
type kubelet struct {
	node string

	mu   sync.Mutex
	logs map[string]chan string
	asks []url.Values
	// lost is the name of a pod that is unknown to the kubelet.
	lost string
}

// newKubelet registers a node. The lines of its containers come from channels, into which a spec writes.
func newKubelet(ctx context.Context) *kubelet {
	GinkgoHelper()
	k := &kubelet{node: "cli-node-" + strconv.FormatInt(sequence.Add(1), 10), logs: map[string]chan string{}}
	server := httptest.NewUnstartedServer(k)
	server.StartTLS()
	DeferCleanup(server.CloseClientConnections)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	Expect(err).NotTo(HaveOccurred())
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: k.node}}
	Expect(k8s.Create(ctx, node)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(k8s.Delete(ctx, node)).To(Succeed()) })
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.0.1"}}
	node.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(must(strconv.Atoi(port)))
	Expect(k8s.Status().Update(ctx, node)).To(Succeed())
	return k
}

// container returns the channel with the lines of a container.
func (k *kubelet) container(pod, name string) chan string {
	k.mu.Lock()
	defer k.mu.Unlock()
	key := pod + "/" + name
	if k.logs[key] == nil {
		k.logs[key] = make(chan string, 100)
	}
	return k.logs[key]
}

// ServeHTTP answers a request for logs. Without the parameter follow, it ends after the available lines.
func (k *kubelet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.Split(strings.TrimPrefix(r.URL.Path, "/containerLogs/"), "/")
	if len(path) != 3 {
		http.NotFound(w, r)
		return
	}
	k.mu.Lock()
	k.asks = append(k.asks, r.URL.Query())
	k.mu.Unlock()
	k.mu.Lock()
	lost := k.lost == path[1]
	k.mu.Unlock()
	if lost {
		http.NotFound(w, r)
		return
	}
	lines, follow := k.container(path[1], path[2]), r.URL.Query().Get("follow") == "true"
	for {
		select {
		case line, open := <-lines:
			if !open {
				return
			}
			_, _ = fmt.Fprintln(w, line)
			_ = http.NewResponseController(w).Flush()
			continue
		case <-r.Context().Done():
			return
		default:
		}
		if !follow {
			return
		}
		select {
		case line, open := <-lines:
			if !open {
				return
			}
			_, _ = fmt.Fprintln(w, line)
			_ = http.NewResponseController(w).Flush()
		case <-r.Context().Done():
			return
		}
	}
}

// asked returns the query parameters of the last request.
func (k *kubelet) asked() url.Values {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.asks[len(k.asks)-1]
}

func podSpec(node string) corev1.PodSpec {
	return corev1.PodSpec{NodeName: node, Containers: []corev1.Container{
		{Name: "main", Image: "x"},
		{Name: "proxy", Image: "x"},
	}}
}

// workload creates a Deployment and its ReplicaSet, in place of the controllers, and returns the ReplicaSet.
func workload(ctx context.Context, namespace, name string) *appsv1.ReplicaSet {
	GinkgoHelper()
	labels := map[string]string{"app": name}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: podSpec("")}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	deployment.Spec = appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template}
	Expect(k8s.Create(ctx, deployment)).To(Succeed())
	set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name + "-1",
		OwnerReferences: controlled("apps/v1", "Deployment", deployment),
	}}
	set.Spec = appsv1.ReplicaSetSpec{Selector: deployment.Spec.Selector, Template: template}
	Expect(k8s.Create(ctx, set)).To(Succeed())
	return set
}

func controlled(apiVersion, kind string, by client.Object) []metav1.OwnerReference {
	return []metav1.OwnerReference{{
		APIVersion: apiVersion, Kind: kind, Name: by.GetName(), UID: by.GetUID(),
		Controller: new(true),
	}}
}

// podOf creates a running pod of a ReplicaSet. If set is nil, the pod has no owner.
func podOf(ctx context.Context, k *kubelet, namespace, name string, set *appsv1.ReplicaSet) *corev1.Pod {
	GinkgoHelper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name,
		Labels: map[string]string{"pod": name},
	}, Spec: podSpec(k.node)}
	if set != nil {
		pod.OwnerReferences = controlled("apps/v1", "ReplicaSet", set)
	}
	Expect(k8s.Create(ctx, pod)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) {
		Expect(client.IgnoreNotFound(k8s.Delete(ctx, pod, client.GracePeriodSeconds(0)))).To(Succeed())
	})
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	pod.Status.Phase = corev1.PodRunning
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{
		{Name: "main", State: running},
		{Name: "proxy", State: running},
	}
	Expect(k8s.Status().Update(ctx, pod)).To(Succeed())
	return pod
}

// holding creates a component, and reports it as Ready with the given inventory.
func holding(ctx context.Context, namespace string, entries ...string) {
	GinkgoHelper()
	status := allReady()
	for _, e := range entries {
		status.Inventory = append(status.Inventory, e+" u=1")
	}
	report(ctx, held(ctx, namespace, "shop"), status)
}
