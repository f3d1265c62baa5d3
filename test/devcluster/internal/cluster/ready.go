package cluster

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	pollInterval = 20 * time.Millisecond
	// startTimeout is far above what a cold, busy machine needs.
	startTimeout = 2 * time.Minute
)

// newClient returns the supervisor's own client.
func newClient(folder Folder) (kubernetes.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", folder.file(componentKubeconfig(supervisor)))
	if err != nil {
		return nil, fmt.Errorf("supervisor's kubeconfig: %w", err)
	}
	config.UserAgent = supervisor
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("supervisor's client: %w", err)
	}
	return client, nil
}

// condition tells whether something holds; if it does not, why.
type condition func(context.Context) error

// waitFor returns when the condition holds, and fails at once when a component dies meanwhile.
func waitFor(ctx context.Context, what string, died <-chan error, holds condition) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		reason := holds(ctx)
		if reason == nil {
			return nil
		}
		select {
		case err := <-died:
			return err
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w; last: %w", what, context.Cause(ctx), reason)
		case <-ticker.C:
		}
	}
}

// apiServerReady asks the API server itself. It is ready when its own roles, priority classes and namespaces are
// written.
func apiServerReady(client kubernetes.Interface) condition {
	return func(ctx context.Context) error {
		if err := client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error(); err != nil {
			return err
		}
		_, err := client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
		return err
	}
}

// controllersReady waits for a first result of the controller manager: until a namespace has its default service
// account, pods are refused in it.
func controllersReady(client kubernetes.Interface) condition {
	return func(ctx context.Context) error {
		_, err := client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
		return err
	}
}

// nodesReady waits until pods can be scheduled to every node. A node loses the taint "not-ready" a moment after it is
// ready.
func nodesReady(client kubernetes.Interface, count int) condition {
	return func(ctx context.Context) error {
		nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		usable := 0
		for i := range nodes.Items {
			if isReady(&nodes.Items[i]) && len(nodes.Items[i].Spec.Taints) == 0 {
				usable++
			}
		}
		if usable < count {
			return fmt.Errorf("%d of %d nodes are ready", usable, count)
		}
		return nil
	}
}

func isReady(node *corev1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}
