package cloud

import (
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// DefaultClass is the name of the default storage class.
	DefaultClass = "standard"
	// Provisioner is that of storage classes whose claims get volumes.
	Provisioner = "devcluster.fairlead.io/volumes"

	// annotationProvisioner is written by the controller manager on a claim that waits for a provisioner.
	annotationProvisioner = "volume.kubernetes.io/storage-provisioner"
	// annotationProvisionedBy keeps the controller manager from deleting the volume itself.
	annotationProvisionedBy = "pv.kubernetes.io/provisioned-by"

	// loadBalancerOffset is the distance of the addresses of load balancers from those of Services, in the second byte:
	// 10.144.0.0/12 lies behind the ranges of Services, nodes and pods.
	loadBalancerOffset = 48
	// ingressAddress is the address of all Ingresses. No load balancer has it, because it belongs to the API server's
	// own Service.
	ingressAddress = "10.144.0.1"
)

// needsVolume reports whether a claim waits for a volume of this provisioner.
func needsVolume(claim *corev1.PersistentVolumeClaim) bool {
	return claim.Annotations[annotationProvisioner] == Provisioner && claim.Spec.VolumeName == "" &&
		claim.Spec.StorageClassName != nil && claim.DeletionTimestamp == nil
}

// volumeFor returns the volume of a claim. Its name contains the UID of the claim, so a second one is refused.
func volumeFor(claim *corev1.PersistentVolumeClaim, class *storagev1.StorageClass) *corev1.PersistentVolume {
	reclaimed := corev1.PersistentVolumeReclaimDelete
	if class.ReclaimPolicy != nil {
		reclaimed = *class.ReclaimPolicy
	}
	name := "pvc-" + string(claim.UID)
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{annotationProvisionedBy: Provisioner}},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:    corev1.ResourceList{corev1.ResourceStorage: claim.Spec.Resources.Requests[corev1.ResourceStorage]},
			AccessModes: claim.Spec.AccessModes,
			ClaimRef: &corev1.ObjectReference{
				APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID,
			},
			PersistentVolumeReclaimPolicy: reclaimed,
			StorageClassName:              class.Name,
			VolumeMode:                    claim.Spec.VolumeMode,
			// A place that nobody opens, because no container runs.
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				HostPath: &corev1.HostPathVolumeSource{Path: "/var/lib/devcluster/" + name},
			},
		},
	}
}

// isAbandoned reports whether a volume of this provisioner is to be deleted.
func isAbandoned(volume *corev1.PersistentVolume) bool {
	return volume.Annotations[annotationProvisionedBy] == Provisioner && volume.DeletionTimestamp == nil &&
		volume.Status.Phase == corev1.VolumeReleased &&
		volume.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete
}

// addressOf returns the address that a Service lacks, empty if it lacks none.
func addressOf(service *corev1.Service) string {
	if service.Spec.Type != corev1.ServiceTypeLoadBalancer || len(service.Status.LoadBalancer.Ingress) > 0 {
		return ""
	}
	address, err := netip.ParseAddr(service.Spec.ClusterIP)
	if err != nil || !address.Is4() {
		return ""
	}
	bytes := address.As4()
	bytes[1] += loadBalancerOffset
	return netip.AddrFrom4(bytes).String()
}
