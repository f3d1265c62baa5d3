package reconcile

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/condition"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestHooksAreBounded(t *testing.T) {
	for _, c := range []struct {
		name     string
		hook     Hook
		terminal bool
		reason   string
		message  string
	}{
		{
			"a panic of a hook is a terminal error",
			func(context.Context, components.Object, DependentReader) error { panic("a bug") },
			true, metav1alpha1.ReasonHookFailed, "hook PostRead: terminal error: the hook panicked: a bug",
		},
		{
			"a hook that does not return in time is cancelled and retried",
			func(ctx context.Context, _ components.Object, _ DependentReader) error {
				<-ctx.Done()
				return ctx.Err()
			},
			false, metav1alpha1.ReasonRetrying, "hook PostRead: it took longer than 30s",
		},
		{
			"an error of a hook is retried",
			func(context.Context, components.Object, DependentReader) error { return errOh },
			false, metav1alpha1.ReasonRetrying, "hook PostRead: oh",
		},
		{
			"a terminal error of a hook stalls the component",
			func(context.Context, components.Object, DependentReader) error { return reconcile.TerminalError(errOh) },
			true, metav1alpha1.ReasonHookFailed, "hook PostRead: terminal error: oh",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := Pass{Author: fakeAuthor{&world{hooks: map[Point]Hook{PostRead: c.hook}}}}
				began := time.Now()
				failure := condition.Of(p.call(t.Context(), PostRead, &Component{Object: &part{}}))
				if failure == nil || failure.Terminal != c.terminal || failure.Reason != c.reason ||
					!strings.Contains(failure.Message, c.message) {
					t.Errorf("the hook failed with the wrong condition error %+v", failure)
				}
				if took := time.Since(began); took > maxHook {
					t.Errorf("the call of the hook took %s, which is longer than maxHook", took)
				}
			})
		})
	}
}

func TestAHookThatSucceedsOrIsMissingIsNoError(t *testing.T) {
	w := newWorld(t)
	for range 2 {
		if err := w.call(t.Context(), PostRead, w.component()); err != nil {
			t.Error(err)
		}
		w.hook(PostRead)
	}
	w.expect("hook PostRead")
}

func TestAHookCanInterruptAPass(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{}, "web", errOh)
	w := newWorld(t)
	w.hook(PostRead)
	for _, failure := range []error{conflict, context.Canceled} {
		w.fails["hook PostRead"] = failure
		if err := w.call(t.Context(), PostRead, w.component()); !errors.Is(err, failure) || !condition.Interrupted(err) {
			t.Errorf("the call of the hook returned %v, want an interruption", err)
		}
	}
}

func TestPreDeleteIsCalledUntilItSucceeds(t *testing.T) {
	w := newWorld(t, deleted)
	w.hook(PreDelete)
	c := w.component()
	w.fails["hook PreDelete"] = errOh
	if err := w.preDelete(t.Context(), c); err == nil {
		t.Error("preDelete returned no error, although the hook failed")
	}
	delete(w.fails, "hook PreDelete")
	for range 3 {
		if err := w.preDelete(t.Context(), c); err != nil {
			t.Error(err)
		}
	}
	w.expect("hook PreDelete", "hook PreDelete")
	c.SetUID("another")
	if err := w.preDelete(t.Context(), c); err != nil {
		t.Error(err)
	}
	w.expect("hook PreDelete")
}

func TestAHookReadsDependents(t *testing.T) {
	unknown := manifests.Key{Kind: "ConfigMap", Namespace: "shop", Name: "unknown"}
	w := newWorld(t)
	w.loaded.Entries = []metav1alpha1.InventoryEntry{settings}
	read := func(key manifests.Key) error {
		_, err := dependents{&w.Pass, w.component()}.Get(t.Context(), key)
		return err
	}
	if err := read(unknown); !apierrors.IsNotFound(err) {
		t.Errorf("the read of an object that is no dependent returned %v, want a NotFound error", err)
	}
	w.expect("owner", "recorded")
	for _, step := range []string{"owner", "recorded", "target"} {
		w.fails = map[string]error{step: errOh}
		if err := read(rendered.Key); !errors.Is(err, errOh) {
			t.Errorf("a failure of the step %s: the read of a dependent returned %v", step, err)
		}
	}
	w.fails = map[string]error{"target": condition.ErrObserving}
	if err := read(rendered.Key); err == nil || !strings.HasSuffix(err.Error(), "the kubeconfig was not read yet") {
		t.Errorf("the read of a dependent returned %v, want that the kubeconfig was not read yet", err)
	}
}

func TestAHookReadsDependentsOfTheTargetThatTheComponentDeclaresNow(t *testing.T) {
	w := newWorld(t)
	w.loaded.Entries = []metav1alpha1.InventoryEntry{settings}
	w.fails["target"] = errOh
	var asked []string
	w.Targets = targetsFunc(func(r target.Request) { asked = append(asked, r.ServiceAccount) })
	c := w.component()
	w.declared.Target.ServiceAccount = "deployer"
	_, _ = dependents{&w.Pass, c}.Get(t.Context(), rendered.Key)
	if len(asked) != 1 || asked[0] != "deployer" {
		t.Errorf("the hook requested targets with the service accounts %q, want deployer", asked)
	}
}

// targetsFunc implements Targets. targetsFunc passes each request to the function, and returns no target.
type targetsFunc func(target.Request)

func (f targetsFunc) Acquire(_ context.Context, r target.Request) (target.Target, error) {
	f(r)
	return target.Target{}, errOh
}
