package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

const (
	// maxLeave is the maximum time in which the hostile components must be deleted, or say why they wait.
	maxLeave = 5 * time.Minute
	// minLeave is the time after which components may wait.
	minLeave = 20 * time.Second
	// maxRest is the maximum time in which the memory of the operator must return.
	maxRest = 5 * time.Minute
	// moreHeap is the tolerance of the live heap, in bytes. restMemory is the maximum memory of the operator and its
	// children at rest, in MiB.
	moreHeap   = 48 * mebibyte
	restMemory = 768
)

// encodeSecret returns the data of a Secret as a merge patch.
func encodeSecret(secret *corev1.Secret) ([]byte, error) {
	return json.Marshal(map[string]any{"data": secret.Data})
}

// leave deletes all hostile components, and waits until they no longer exist or say why they wait.
func (a *attacker) leave(ctx context.Context) error {
	all := &v1alpha1.ComponentList{}
	if err := a.client.List(ctx, all, client.InNamespace(hostileNamespace)); err != nil {
		return err
	}
	for i := range all.Items {
		if err := a.client.Delete(ctx, &all.Items[i]); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	began := time.Now()
	silent := []string{}
	err := wait.PollUntilContextTimeout(ctx, time.Second, maxLeave, true, func(ctx context.Context) (bool, error) {
		left := &v1alpha1.ComponentList{}
		if err := a.world.admin.List(ctx, left, client.InNamespace(hostileNamespace)); err != nil {
			return false, err
		}
		a.waiting, silent = nil, nil
		for i := range left.Items {
			if reason := reasonOf(&left.Items[i]); reason == "" {
				silent = append(silent, left.Items[i].Name)
			} else {
				a.waiting = append(a.waiting, left.Items[i].Name+": "+reason)
			}
		}
		return len(left.Items) == 0 || len(silent) == 0 && time.Since(began) > minLeave, nil
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		for _, name := range silent {
			a.world.complain("the deletion of component %s takes longer than %s, and the status does not say why", name,
				maxLeave)
		}
		err = nil
	}
	return err
}

// reasonOf returns the reason why a component that is being deleted still exists, and an empty text if it says none.
func reasonOf(component *v1alpha1.Component) string {
	ready := meta.FindStatusCondition(component.Status.Conditions, metav1alpha1.ConditionReady)
	if ready == nil || ready.Message == "" || ready.ObservedGeneration != component.Generation {
		return ""
	}
	return fmt.Sprintf("%s %s: %.200s", component.Status.State, ready.Reason, ready.Message)
}

// rest waits until the operator's memory has returned.
func (w *world) rest(ctx context.Context) error {
	state := ""
	err := wait.PollUntilContextTimeout(ctx, time.Second, maxRest, true, func(ctx context.Context) (bool, error) {
		var err error
		if w.after, err = w.operator.heap(ctx); err != nil {
			return false, err
		}
		used := w.operator.memory()
		state = fmt.Sprintf("the live heap has %.0f MiB, and had %.0f MiB before; all processes need %d MiB",
			w.after/mebibyte, w.before/mebibyte, used)
		return w.after < w.before+moreHeap && used < restMemory, nil
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		w.complain("the memory does not return: %s", state)
		err = nil
	}
	w.say("at rest: %s", state)
	return err
}

// strangers returns the objects outside the namespaces of the tenants, without those that controllers renew.
func (w *world) strangers(ctx context.Context) (map[string]bool, error) {
	c, err := discovery.NewDiscoveryClientForConfig(w.cluster.Config())
	if err != nil {
		return nil, err
	}
	lists, err := c.ServerPreferredResources()
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for _, list := range discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "delete"}}, lists) {
		for _, r := range list.APIResources {
			if err := w.addStrangers(ctx, schema.FromAPIVersionAndKind(list.GroupVersion, r.Kind), found); err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

// renewed are the kinds of objects that come and go by themselves.
var renewed = map[string]bool{"Event": true, "Lease": true, "EndpointSlice": true, "Endpoints": true}

func (w *world) addStrangers(ctx context.Context, gvk schema.GroupVersionKind, found map[string]bool) error {
	if renewed[gvk.Kind] {
		return nil
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(gvk)
	if err := w.admin.List(ctx, list); err != nil {
		return fmt.Errorf("list %s: %w", gvk.Kind, err)
	}
	for i := range list.Items {
		if o := &list.Items[i]; o.Namespace != goodNamespace && o.Namespace != hostileNamespace {
			found[fmt.Sprintf("%s %s/%s", gvk.GroupKind(), o.Namespace, o.Name)] = true
		}
	}
	return nil
}

// complain1 adds violations.
func (w *world) complain1(what []string, err error) {
	if err != nil {
		what = append(what, err.Error())
	}
	for _, text := range what {
		w.complain("%s", text)
	}
}
