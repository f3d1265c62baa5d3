package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

const foreignName = "made-by-hand"

func (w *world) refuseDeletion(ctx context.Context) error {
	w.say("Kubernetes deletes all instances together with their type.")
	w.command("kubectl create -f " + foreignName + ".yaml   # a Backup")
	if err := w.admin.Create(ctx, backup(foreignName)); err != nil {
		return err
	}
	before, err := w.versions(ctx, "backups")
	if err != nil {
		return err
	}
	if err := w.fairlead(ctx, 1, "delete", "backups", "--wait", "--timeout=1s"); err != nil {
		return err
	}
	if err := w.holds(ctx, "the condition names "+foreignName, w.namesForeign); err != nil {
		return err
	}
	return w.holds(ctx, "none of the component's dependents was changed", func(ctx context.Context) error {
		after, err := w.versions(ctx, "backups")
		if err == nil && !maps.Equal(before, after) {
			err = fmt.Errorf("before: %v, after: %v", before, after)
		}
		return err
	})
}

// namesForeign checks that the component's condition names the foreign instance.
func (w *world) namesForeign(ctx context.Context) error {
	c, err := w.component(ctx, "backups")
	if err != nil {
		return err
	}
	ready := meta.FindStatusCondition(c.Status.Conditions, metav1alpha1.ConditionReady)
	if ready == nil || ready.Reason != metav1alpha1.ReasonForeignInstances ||
		!strings.Contains(ready.Message, foreignName) {
		return fmt.Errorf("the condition is %v", ready)
	}
	return nil
}

func (w *world) liftRefusal(ctx context.Context) error {
	entries, err := w.inventory(ctx, "backups")
	if err != nil {
		return err
	}
	w.command("kubectl delete backup", foreignName)
	if err := w.admin.Delete(ctx, backup(foreignName)); err != nil {
		return err
	}
	err = w.becomes(
		ctx,
		"the component was deleted, measured from the response to this deletion",
		func(ctx context.Context) error {
			return w.componentIsAbsent(ctx, "backups")
		},
	)
	if err != nil {
		return err
	}
	return w.becomes(
		ctx,
		"the component's type and instances no longer exist",
		func(ctx context.Context) error { return w.areAbsent(ctx, entries) },
	)
}

func (w *world) componentIsAbsent(ctx context.Context, name string) error {
	_, err := w.component(ctx, name)
	if err == nil {
		return fmt.Errorf("component %s still exists", name)
	}
	if !apierrors.IsNotFound(err) {
		return err
	}
	return nil
}

func (w *world) deleteRest(ctx context.Context) error {
	for _, name := range []string{"web", "shop"} {
		entries, err := w.inventory(ctx, name)
		if err != nil {
			return err
		}
		if err := w.fairlead(ctx, 0, "delete", name, "--wait"); err != nil {
			return err
		}
		err = w.holds(
			ctx,
			fmt.Sprintf("%s and its %d dependents were deleted", name, len(entries)),
			func(ctx context.Context) error {
				return errors.Join(w.componentIsAbsent(ctx, name), w.areAbsent(ctx, entries))
			},
		)
		if err != nil {
			return err
		}
		err = w.holds(
			ctx,
			"the audit log contains the deletions wave by wave",
			func(ctx context.Context) error { return w.wentInWaves(ctx, entries) },
		)
		if err != nil {
			return err
		}
	}
	return w.holds(ctx, "the API server refused no request of the operator for a missing right", w.nothingWasForbidden)
}

// nothingWasForbidden checks that the operator made no request without the necessary right. Dry-run creations that the
// guard of a definition refuses are excluded, because the operator uses them to test the guard.
func (w *world) nothingWasForbidden(ctx context.Context) error {
	events, err := w.operatorEvents(ctx)
	if err != nil {
		return err
	}
	forbidden := events.Code(403).Where(func(e testcluster.Event) bool {
		return e.Resource != "customresourcedefinitions" || !strings.Contains(e.RequestURI, "dryRun=All")
	})
	if len(forbidden) > 0 {
		return fmt.Errorf(
			"%d requests were forbidden, such as %s %s",
			len(forbidden),
			forbidden[0].Verb,
			forbidden[0].RequestURI,
		)
	}
	return nil
}
