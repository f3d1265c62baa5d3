package cloud

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// resyncPeriod is when an object is looked at again, also after an error.
const resyncPeriod = 5 * time.Second

// Start creates the default storage class, and runs the controllers until the context ends.
func Start(ctx context.Context, client kubernetes.Interface) error {
	class := defaultClass()
	if _, err := client.StorageV1().StorageClasses().Create(ctx, class, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create the StorageClass %s: %w", class.Name, err)
	}
	factory := informers.NewSharedInformerFactory(client, resyncPeriod)
	controllers := []struct {
		informer cache.SharedIndexInformer
		handle   func(context.Context, any) error
	}{
		{factory.Core().V1().PersistentVolumeClaims().Informer(), provision(client)},
		{factory.Core().V1().PersistentVolumes().Informer(), reclaim(client)},
		{factory.Core().V1().Services().Informer(), balance(client)},
		{factory.Networking().V1().Ingresses().Informer(), publish(client)},
	}
	for _, controller := range controllers {
		// An error is dropped: the next look at the object comes by itself.
		look := func(object any) { _ = controller.handle(ctx, object) }
		_, err := controller.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: look, UpdateFunc: func(_, object any) { look(object) },
		})
		if err != nil {
			return fmt.Errorf("start a controller of the cloud: %w", err)
		}
	}
	factory.Start(ctx.Done())
	return nil
}

// provision creates the volume of a claim. The controller manager marks claims that wait for a provisioner.
func provision(client kubernetes.Interface) func(context.Context, any) error {
	return func(ctx context.Context, object any) error {
		claim, ok := object.(*corev1.PersistentVolumeClaim)
		if !ok || !needsVolume(claim) {
			return nil
		}
		class, err := client.StorageV1().StorageClasses().Get(ctx, *claim.Spec.StorageClassName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		_, err = client.CoreV1().PersistentVolumes().Create(ctx, volumeFor(claim, class), metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	}
}

// reclaim deletes a volume whose claim no longer exists.
func reclaim(client kubernetes.Interface) func(context.Context, any) error {
	return func(ctx context.Context, object any) error {
		volume, ok := object.(*corev1.PersistentVolume)
		if !ok || !isAbandoned(volume) {
			return nil
		}
		return client.CoreV1().PersistentVolumes().Delete(ctx, volume.Name, metav1.DeleteOptions{
			Preconditions: &metav1.Preconditions{UID: &volume.UID},
		})
	}
}

// balance gives an address to a Service of type LoadBalancer.
func balance(client kubernetes.Interface) func(context.Context, any) error {
	return func(ctx context.Context, object any) error {
		service, ok := object.(*corev1.Service)
		if !ok {
			return nil
		}
		address := addressOf(service)
		if address == "" {
			return nil
		}
		status, err := loadBalancerStatus(
			service.UID,
			corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: address}}},
		)
		if err != nil {
			return err
		}
		_, err = client.CoreV1().Services(service.Namespace).
			Patch(ctx, service.Name, types.MergePatchType, status, metav1.PatchOptions{}, "status")
		return err
	}
}

// publish gives an address to an Ingress.
func publish(client kubernetes.Interface) func(context.Context, any) error {
	return func(ctx context.Context, object any) error {
		ingress, ok := object.(*networkingv1.Ingress)
		if !ok || len(ingress.Status.LoadBalancer.Ingress) > 0 {
			return nil
		}
		status, err := loadBalancerStatus(ingress.UID,
			networkingv1.IngressLoadBalancerStatus{Ingress: []networkingv1.IngressLoadBalancerIngress{{IP: ingressAddress}}})
		if err != nil {
			return err
		}
		_, err = client.NetworkingV1().Ingresses(ingress.Namespace).
			Patch(ctx, ingress.Name, types.MergePatchType, status, metav1.PatchOptions{}, "status")
		return err
	}
}

// loadBalancerStatus is a patch of the status, for the object with this UID only.
func loadBalancerStatus(uid types.UID, status any) ([]byte, error) {
	return json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": uid},
		"status":   map[string]any{"loadBalancer": status},
	})
}

// defaultClass is the class of claims that name none.
func defaultClass() *storagev1.StorageClass {
	reclaimed, bound := corev1.PersistentVolumeReclaimDelete, storagev1.VolumeBindingWaitForFirstConsumer
	expandable := true
	return &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{
			Name: DefaultClass, Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"},
		},
		Provisioner: Provisioner, ReclaimPolicy: &reclaimed, VolumeBindingMode: &bound, AllowVolumeExpansion: &expandable,
	}
}
