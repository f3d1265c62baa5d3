package cloud

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// claim returns a claim that waits for a volume.
func claim(changes ...func(*corev1.PersistentVolumeClaim)) *corev1.PersistentVolumeClaim {
	class := DefaultClass
	c := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "data", UID: "1234", Annotations: map[string]string{annotationProvisioner: Provisioner},
		},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &class, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("8Gi")}},
		},
	}
	for _, change := range changes {
		change(c)
	}
	return c
}

func TestNeedsVolume(t *testing.T) {
	cases := map[string]struct {
		change func(*corev1.PersistentVolumeClaim)
		want   bool
	}{
		"a claim that waits": {func(*corev1.PersistentVolumeClaim) {}, true},
		"a bound claim":      {func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeName = "pvc-1" }, false},
		"a claim of " +
			"another class": {
			func(c *corev1.PersistentVolumeClaim) { c.Annotations[annotationProvisioner] = "ebs.csi.aws.com" },
			false,
		},
		"a claim that is not seen yet": {func(c *corev1.PersistentVolumeClaim) { c.Annotations = nil }, false},
		"a claim that is being deleted": {func(c *corev1.PersistentVolumeClaim) {
			c.DeletionTimestamp = &metav1.Time{}
		}, false},
	}
	for name, c := range cases {
		if got := needsVolume(claim(c.change)); got != c.want {
			t.Errorf("%s: want %t, got %t", name, c.want, got)
		}
	}
}

func TestTheVolumeOfAClaimIsItsOwn(t *testing.T) {
	volume := volumeFor(claim(), defaultClass())
	if got := volume.Spec.ClaimRef; got.Namespace != "shop" || got.Name != "data" || got.UID != "1234" {
		t.Errorf("claim: got %v", got)
	}
	if got := volume.Spec.Capacity.Storage().String(); got != "8Gi" {
		t.Errorf("capacity: want 8Gi, got %s", got)
	}
	if isAbandoned(volume) {
		t.Error("a volume that is not released is not deleted")
	}
	volume.Status.Phase = corev1.VolumeReleased
	if !isAbandoned(volume) {
		t.Error("a released volume is deleted")
	}
	volume.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRetain
	if isAbandoned(volume) {
		t.Error("a volume with the policy Retain is not deleted")
	}
}

func TestAddressOf(t *testing.T) {
	service := func(kind corev1.ServiceType, clusterIP string, has ...corev1.LoadBalancerIngress) *corev1.Service {
		return &corev1.Service{
			Spec:   corev1.ServiceSpec{Type: kind, ClusterIP: clusterIP},
			Status: corev1.ServiceStatus{LoadBalancer: corev1.LoadBalancerStatus{Ingress: has}},
		}
	}
	cases := map[string]struct {
		service *corev1.Service
		want    string
	}{
		"a load balancer":               {service(corev1.ServiceTypeLoadBalancer, "10.96.3.4"), "10.144.3.4"},
		"the last address of the range": {service(corev1.ServiceTypeLoadBalancer, "10.111.255.254"), "10.159.255.254"},
		"a load balancer with an address": {service(corev1.ServiceTypeLoadBalancer, "10.96.3.4",
			corev1.LoadBalancerIngress{IP: "10.0.0.1"}), ""},
		"a load balancer without cluster IP": {service(corev1.ServiceTypeLoadBalancer, ""), ""},
		"another Service":                    {service(corev1.ServiceTypeClusterIP, "10.96.3.4"), ""},
	}
	for name, c := range cases {
		if got := addressOf(c.service); got != c.want {
			t.Errorf("%s: want %q, got %q", name, c.want, got)
		}
	}
}
