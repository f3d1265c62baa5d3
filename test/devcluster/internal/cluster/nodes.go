package cluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// region is that of all nodes.
const region = "region-1"

// zones are given to the nodes in turn.
var zones = []string{"region-1a", "region-1b", "region-1c"}

// capacity is enough for all pods. Kwok's own default has no ephemeral storage, which pods of charts request.
func capacity() corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("1k"),
		corev1.ResourceMemory:           resource.MustParse("1Ti"),
		corev1.ResourceEphemeralStorage: resource.MustParse("1Ti"),
		corev1.ResourcePods:             resource.MustParse("1M"),
	}
}

// createNodes registers fake nodes with the names node-0, node-1 and so on. kwok simulates their kubelets.
func createNodes(ctx context.Context, client kubernetes.Interface, count int) error {
	for i := range count {
		name := fmt.Sprintf("node-%d", i)
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
			Name: name,
			Labels: map[string]string{
				corev1.LabelHostname:   name,
				corev1.LabelOSStable:   "linux",
				corev1.LabelArchStable: "amd64",

				corev1.LabelTopologyRegion: region,
				corev1.LabelTopologyZone:   zones[i%len(zones)],
			},
			Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"},
		}, Status: corev1.NodeStatus{Capacity: capacity(), Allocatable: capacity()}}
		if _, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("register %s: %w", name, err)
		}
	}
	return nil
}
