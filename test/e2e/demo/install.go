package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/test/program"
)

const sources = "test/e2e/demo/"

func (w *world) installShop(ctx context.Context) error {
	if err := w.fairlead(ctx, 0, "apply", "shop", sources+"shop", "--wait"); err != nil {
		return err
	}
	if err := w.isInstalled(ctx, "shop", 7); err != nil {
		return err
	}
	err := w.holds(
		ctx,
		"the audit log contains one creation for each object, wave by wave",
		func(ctx context.Context) error { return w.cameInWaves(ctx, "shop") },
	)
	if err != nil {
		return err
	}
	err = w.holds(ctx, "the migration was complete before the shop was created", w.migrationCameFirst)
	if err != nil {
		return err
	}
	return w.holds(ctx, "3 pods run registry.example.com/shop:1.4.0", func(ctx context.Context) error {
		return w.runs(ctx, "shop", "registry.example.com/shop:1.4.0", 3)
	})
}

// isInstalled makes the checks for every component after "apply --wait".
func (w *world) isInstalled(ctx context.Context, name string, dependents int) error {
	err := w.holds(ctx, name+" is Ready", func(ctx context.Context) error { return w.isReady(ctx, name, dependents) })
	if err != nil {
		return err
	}
	what := fmt.Sprintf("its %d dependents exist as recorded, with its owner label", dependents)
	return w.holds(ctx, what, func(ctx context.Context) error { return w.ownsItsDependents(ctx, name) })
}

// migrationCameFirst compares times of objects. These times have a resolution of a second, so cameInWaves also checks
// the order in the audit log.
func (w *world) migrationCameFirst(ctx context.Context) error {
	migration, shop := &batchv1.Job{}, &appsv1.Deployment{}
	if err := w.admin.Get(
		ctx,
		client.ObjectKey{Namespace: namespace, Name: "shop-migrate-1-4-0"},
		migration,
	); err != nil {
		return err
	}
	if err := w.admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "shop"}, shop); err != nil {
		return err
	}
	if migration.Status.CompletionTime == nil || shop.CreationTimestamp.Before(migration.Status.CompletionTime) {
		return fmt.Errorf(
			"the Deployment was created at %s, the migration completed at %s",
			shop.CreationTimestamp,
			migration.Status.CompletionTime,
		)
	}
	return nil
}

// runs checks that a Deployment has rolled out an image.
func (w *world) runs(ctx context.Context, name, image string, replicas int32) error {
	d := &appsv1.Deployment{}
	if err := w.admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, d); err != nil {
		return err
	}
	if got := d.Spec.Template.Spec.Containers[0].Image; got != image {
		return fmt.Errorf("the Deployment has image %s", got)
	}
	if s := d.Status; s.ObservedGeneration != d.Generation || s.UpdatedReplicas != replicas ||
		s.AvailableReplicas != replicas {
		return fmt.Errorf("the Deployment has %d updated and %d available replicas", s.UpdatedReplicas, s.AvailableReplicas)
	}
	return nil
}

func (w *world) showTree(ctx context.Context) error {
	return w.fairlead(ctx, 0, "tree", "shop")
}

func (w *world) installWeb(ctx context.Context) error {
	if err := w.fairlead(ctx, 0, "apply", "web", sources+"web", "--path=overlays/production", "--wait"); err != nil {
		return err
	}
	if err := w.isInstalled(ctx, "web", 3); err != nil {
		return err
	}
	return w.holds(ctx, "the overlay's image, patch and generated ConfigMap are applied", w.overlayArrived)
}

func (w *world) overlayArrived(ctx context.Context) error {
	if err := w.runs(ctx, "web", "registry.example.com/nginx:1.28.2", 2); err != nil {
		return err
	}
	d := &appsv1.Deployment{}
	if err := w.admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "web"}, d); err != nil {
		return err
	}
	pod := d.Spec.Template.Spec
	if memory := pod.Containers[0].Resources.Limits.Memory().String(); memory != "128Mi" {
		return fmt.Errorf("the memory limit is %s", memory)
	}
	pages := &corev1.ConfigMap{}
	if err := w.admin.Get(
		ctx,
		client.ObjectKey{Namespace: namespace, Name: pod.Volumes[0].ConfigMap.Name},
		pages,
	); err != nil {
		return err
	}
	if _, found := pages.Data["index.html"]; !found {
		return fmt.Errorf("ConfigMap %s has no index.html, but %v", pages.Name, slices.Sorted(maps.Keys(pages.Data)))
	}
	return nil
}

// grantBackups grants the operator rights on a type. The platform team does this once for each type that the operator's
// own rules do not contain.
func (w *world) grantBackups(ctx context.Context) error {
	const file = sources + "backups-rights.yaml"
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	w.command("kubectl apply -f", file)
	role := &rbacv1.ClusterRole{}
	if err := yaml.UnmarshalStrict(text, role); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if err := w.admin.Create(ctx, role); err != nil {
		return err
	}
	return w.becomes(ctx, "the operator's ClusterRole has the rules of "+role.Name, func(ctx context.Context) error {
		allowed, err := may(
			ctx,
			w.admin,
			program.OperatorUser,
			authorizationv1.ResourceAttributes{Verb: "create", Group: "ops.example.com", Resource: "backups"},
		)
		if err == nil && !allowed {
			err = errors.New("the operator has no right to create backups yet")
		}
		return err
	})
}

func (w *world) installBackups(ctx context.Context) error {
	err := w.fairlead(ctx, 0, "apply", "backups", sources+"backups", "-f", sources+"backups-values.yaml", "--wait")
	if err != nil {
		return err
	}
	if err := w.isInstalled(ctx, "backups", 5); err != nil {
		return err
	}
	return w.holds(ctx, "the instances have the values of the component", func(ctx context.Context) error {
		weekly := backup("invoices-weekly")
		if err := w.admin.Get(ctx, client.ObjectKeyFromObject(weekly), weekly); err != nil {
			return err
		}
		keep, _, err := unstructured.NestedInt64(weekly.Object, "spec", "keep")
		if err == nil && keep != 12 {
			err = fmt.Errorf("spec.keep is %d", keep)
		}
		return err
	})
}

// backup returns an instance of the type that the component backups defines.
func backup(name string) *unstructured.Unstructured {
	b := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "ops.example.com/v1", "kind": "Backup",
		"spec": map[string]any{"schedule": "0 0 * * *", "volume": name},
	}}
	b.SetNamespace(namespace)
	b.SetName(name)
	return b
}
