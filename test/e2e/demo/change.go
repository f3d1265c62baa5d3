package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func (w *world) upgradeShop(ctx context.Context) error {
	err := w.fairlead(
		ctx,
		0,
		"apply",
		"shop",
		sources+"shop",
		"--set=image.tag=1.5.0",
		"--set=sale.enabled=false",
		"--wait",
	)
	if err != nil {
		return err
	}
	if err := w.isInstalled(ctx, "shop", 6); err != nil {
		return err
	}
	err = w.holds(ctx, "3 pods run registry.example.com/shop:1.5.0", func(ctx context.Context) error {
		return w.runs(ctx, "shop", "registry.example.com/shop:1.5.0", 3)
	})
	if err != nil {
		return err
	}
	return w.holds(
		ctx,
		"pruned: the banner of the sale, and the migration of the old version",
		func(ctx context.Context) error {
			banner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop-sale"}}
			migration := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop-migrate-1-4-0"}}
			return errors.Join(w.isAbsent(ctx, banner), w.isAbsent(ctx, migration))
		},
	)
}

func (w *world) repairScale(ctx context.Context) error {
	w.command("kubectl scale deployment shop --replicas=7")
	shop := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop"}}
	replicas := func(e watch.Event) int32 {
		if d, ok := e.Object.(*appsv1.Deployment); ok && d.Spec.Replicas != nil {
			return *d.Spec.Replicas
		}
		return 0
	}
	took, err := w.repair(ctx, foreignWrite{
		kind: &appsv1.DeploymentList{}, name: shop.Name,
		write: func(ctx context.Context) error {
			scale := &autoscalingv1.Scale{ObjectMeta: shop.ObjectMeta, Spec: autoscalingv1.ScaleSpec{Replicas: 7}}
			return w.admin.SubResource("scale").Update(ctx, shop, client.WithSubResourceBody(scale))
		},
		drifted:  func(e watch.Event) bool { return replicas(e) == 7 },
		repaired: func(e watch.Event) bool { return replicas(e) == 3 },
	})
	if err != nil {
		return err
	}
	w.held(took, "the Deployment has 3 replicas again, measured from the response to the scaling")
	return w.becomes(ctx, "shop is Ready, with 3 pods", func(ctx context.Context) error {
		return errors.Join(w.isReady(ctx, "shop", 6), w.runs(ctx, "shop", "registry.example.com/shop:1.5.0", 3))
	})
}

func (w *world) repairDeletion(ctx context.Context) error {
	w.command("kubectl delete service shop")
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop"}}
	took, err := w.repair(ctx, foreignWrite{
		kind: &corev1.ServiceList{}, name: service.Name,
		write:    func(ctx context.Context) error { return w.admin.Delete(ctx, service) },
		drifted:  func(e watch.Event) bool { return e.Type == watch.Deleted },
		repaired: func(e watch.Event) bool { return e.Type == watch.Added },
	})
	if err != nil {
		return err
	}
	w.held(took, "the Service exists again, measured from the response to the deletion")
	return w.becomes(
		ctx,
		"the component shop is Ready, and its inventory contains the new Service",
		func(ctx context.Context) error {
			return errors.Join(w.isReady(ctx, "shop", 6), w.ownsItsDependents(ctx, "shop"))
		},
	)
}

// foreignWrite is a change of a dependent by another client, and its effects in a watch.
type foreignWrite struct {
	kind              client.ObjectList
	name              string
	write             func(context.Context) error
	drifted, repaired func(watch.Event) bool
}

// repair makes a foreign write, and returns the time from its response until a watch receives the repaired dependent.
func (w *world) repair(ctx context.Context, f foreignWrite) (time.Duration, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("%s was not repaired within %s", f.name, timeout))
	defer cancel()
	watcher, err := w.admin.Watch(
		ctx,
		f.kind,
		client.InNamespace(namespace),
		client.MatchingFields{"metadata.name": f.name},
	)
	if err != nil {
		return 0, err
	}
	defer watcher.Stop()
	if err := f.write(ctx); err != nil {
		return 0, err
	}
	answered := startWatch()
	drifted := false
	for event := range watcher.ResultChan() {
		// The first event of the watch shows the dependent before the write.
		drifted = drifted || f.drifted(event)
		if drifted && f.repaired(event) {
			return answered.elapsed(), nil
		}
	}
	if err := context.Cause(ctx); err != nil {
		return 0, err
	}
	return 0, errors.New("the watch ended")
}
