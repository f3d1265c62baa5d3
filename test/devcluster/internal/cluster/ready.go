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
	// startTimeout is much longer than a slow machine needs.
	startTimeout = 2 * time.Minute
)

// newClient returns the client of the supervisor.
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

// condition returns nil if a state is reached, and otherwise an error with the reason.
type condition func(context.Context) error

// waitFor waits until the condition returns nil. It returns an error at once if a component ends.
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

// apiServerReady is a condition that the API server reports itself as ready. It is ready when its roles, priority
// classes and namespaces are created.
func apiServerReady(client kubernetes.Interface) condition {
	return func(ctx context.Context) error {
		if err := client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error(); err != nil {
			return err
		}
		_, err := client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
		return err
	}
}

// controllersReady is a condition for the first result of the controller manager: the default service account of a
// namespace. Without it the API server refuses pods in the namespace.
func controllersReady(client kubernetes.Interface) condition {
	return func(ctx context.Context) error {
		_, err := client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
		return err
	}
}

// nodesReady is a condition that pods can be scheduled to every node. The taint "not-ready" is removed from a node a
// moment after the node is ready.
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
