package boottest

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

func TestAClusterIsLikeThatOfACloud(t *testing.T) {
	cluster := up(t, "--nodes", "3", "--cloud")
	client := newClient(t, loadConfig(t, cluster.dir+"/kubeconfig"))

	t.Run("each node has a zone of its own", func(t *testing.T) {
		nodes, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		zones := map[string]bool{}
		for _, node := range nodes.Items {
			zones[node.Labels[corev1.LabelTopologyZone]] = true
		}
		if len(zones) != 3 {
			t.Errorf("want 3 zones, got %v", zones)
		}
	})
	t.Run("a StatefulSet with a claim gets ready, and its volume goes with the claim", func(t *testing.T) {
		testClaim(t,
			client)
	})
	t.Run("a load balancer and an Ingress get addresses", func(t *testing.T) { testAddresses(t, client) })
}

func testClaim(t *testing.T, client kubernetes.Interface) {
	ctx := t.Context()
	labels := map[string]string{"app": "hold"}
	replicas := int32(2)
	set := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: "hold"},
		Spec: appsv1.StatefulSetSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name: "hold", Image: "hold",
					Resources: corev1.ResourceRequirements{
						Requests: corev1.ResourceList{corev1.ResourceEphemeralStorage: resource.MustParse("1Gi")},
					},
				}}},
			},
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{
				ObjectMeta: metav1.ObjectMeta{Name: "data"},
				Spec: corev1.PersistentVolumeClaimSpec{
					AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
					Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
				},
			}},
			PersistentVolumeClaimRetentionPolicy: &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
				WhenDeleted: appsv1.DeletePersistentVolumeClaimRetentionPolicyType,
			},
		},
	}
	if _, err := client.AppsV1().StatefulSets("default").Create(ctx, set, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the StatefulSet is ready", func() bool {
		live, err := client.AppsV1().StatefulSets("default").Get(ctx, "hold", metav1.GetOptions{})
		return err == nil && live.Status.ReadyReplicas == replicas
	})
	claim, err := client.CoreV1().PersistentVolumeClaims("default").Get(ctx, "data-hold-0", metav1.GetOptions{})
	if err != nil || claim.Status.Phase != corev1.ClaimBound {
		t.Errorf("want a bound claim, got %v, %v", claim.Status.Phase, err)
	}
	if err := client.AppsV1().StatefulSets("default").Delete(ctx, "hold", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "no volume is left", func() bool {
		volumes, err := client.CoreV1().PersistentVolumes().List(ctx, metav1.ListOptions{})
		return err == nil && len(volumes.Items) == 0
	})
}

func testAddresses(t *testing.T, client kubernetes.Interface) {
	ctx := t.Context()
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "quay"},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80}}},
	}
	if _, err := client.CoreV1().Services("default").Create(ctx, service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	ingress := &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{Name: "quay"},
		Spec: networkingv1.IngressSpec{DefaultBackend: &networkingv1.IngressBackend{
			Service: &networkingv1.IngressServiceBackend{Name: "quay", Port: networkingv1.ServiceBackendPort{Number: 80}},
		}},
	}
	if _, err := client.NetworkingV1().Ingresses("default").Create(ctx, ingress, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the load balancer has an address", func() bool {
		live, err := client.CoreV1().Services("default").Get(ctx, "quay", metav1.GetOptions{})
		return err == nil && len(live.Status.LoadBalancer.Ingress) == 1
	})
	eventually(t, "the Ingress has an address", func() bool {
		live, err := client.NetworkingV1().Ingresses("default").Get(ctx, "quay", metav1.GetOptions{})
		return err == nil && len(live.Status.LoadBalancer.Ingress) == 1
	})
}
