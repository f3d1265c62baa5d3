package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/test/program"
)

const (
	// changeInterval is the time between two changes of the good tenant.
	changeInterval = 3 * time.Second
	// timeout is the maximum time until a change is applied. A rendering may occupy each of the children for a minute.
	timeout = 5 * time.Minute
	// shop is the name of the good tenant's component.
	shop = "shop"
)

// goodTenant changes a component from time to time, and measures how long it takes until the change is applied.
type goodTenant struct {
	world  *world
	client client.Client

	mu    sync.Mutex
	times []time.Duration
}

// begin creates the component, and waits until it is Ready.
func (g *goodTenant) begin(ctx context.Context) error {
	component := &v1alpha1.Component{
		ObjectMeta: metav1.ObjectMeta{Namespace: goodNamespace, Name: shop},
		Spec: v1alpha1.ComponentSpec{Source: inline(map[string]string{
			"Chart.yaml":  "{apiVersion: v2, name: shop, version: 1.0.0}",
			"values.yaml": "{level: '0'}",
			"templates/settings.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, " +
				"data: {level: {{ .Values.level | quote }}}}",
		})},
	}
	if err := g.client.Create(ctx, component); err != nil {
		return err
	}
	_, err := g.wait(ctx, "0")
	return err
}

// work changes the component until the given time.
func (g *goodTenant) work(ctx context.Context, until time.Time) error {
	for number := 1; time.Now().Before(until); number++ {
		level := strconv.Itoa(number)
		patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"values":{"level":%q}}}`, level))
		component := &v1alpha1.Component{ObjectMeta: metav1.ObjectMeta{Namespace: goodNamespace, Name: shop}}
		if err := g.client.Patch(ctx, component, patch); err != nil {
			return fmt.Errorf("change the good component: %w", err)
		}
		took, err := g.wait(ctx, level)
		if err != nil {
			return err
		}
		g.mu.Lock()
		g.times = append(g.times, took)
		g.mu.Unlock()
		select {
		case <-time.After(changeInterval):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// wait waits until the component is Ready with the given level, and returns the time.
func (g *goodTenant) wait(ctx context.Context, level string) (time.Duration, error) {
	began, state := time.Now(), ""
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, timeout, true, func(ctx context.Context) (bool, error) {
		component, settings := &v1alpha1.Component{}, &corev1.ConfigMap{}
		key := client.ObjectKey{Namespace: goodNamespace, Name: shop}
		if err := g.client.Get(ctx, key, component); err != nil {
			return false, client.IgnoreNotFound(err)
		}
		ready := meta.FindStatusCondition(component.Status.Conditions, metav1alpha1.ConditionReady)
		if ready != nil {
			state = fmt.Sprintf("%s %s: %s", component.Status.State, ready.Reason, ready.Message)
		}
		if ready == nil || ready.Status != metav1.ConditionTrue || ready.ObservedGeneration != component.Generation {
			return false, nil
		}
		err := g.client.Get(ctx, client.ObjectKey{Namespace: goodNamespace, Name: "settings"}, settings)
		return settings.Data["level"] == level, client.IgnoreNotFound(err)
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		g.world.complain("the good component did not become Ready with level %s within %s: %s", level, timeout, state)
		err = nil
	}
	return time.Since(began), program.CauseOf(ctx, err)
}

// percentile returns a percentile of the times, and 0 without times.
func (g *goodTenant) percentile(percent int) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.times) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(g.times))
	return sorted[(len(sorted)-1)*percent/100].Round(time.Millisecond)
}
