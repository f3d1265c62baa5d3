package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/component/result"
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
			func(context.Context, components.Object, DependentReader, Result) error { panic("a bug") },
			true, metav1alpha1.ReasonHookFailed, "hook PostRead: terminal error: the hook panicked: a bug",
		},
		{
			"a hook that does not return in time is cancelled and retried",
			func(ctx context.Context, _ components.Object, _ DependentReader, _ Result) error {
				<-ctx.Done()
				return ctx.Err()
			},
			false, metav1alpha1.ReasonRetrying, "hook PostRead: it took longer than 30s",
		},
		{
			"an error of a hook is retried",
			func(context.Context, components.Object, DependentReader, Result) error { return errOh },
			false, metav1alpha1.ReasonRetrying, "hook PostRead: oh",
		},
		{
			"a terminal error of a hook stalls the component",
			func(context.Context, components.Object, DependentReader, Result) error {
				return reconcile.TerminalError(errOh)
			},
			true, metav1alpha1.ReasonHookFailed, "hook PostRead: terminal error: oh",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := Pass{Author: fakeAuthor{&world{hooks: map[Point][]Hook{PostRead: {c.hook}}}}}
				began := time.Now()
				failure := passerror.Of(p.call(t.Context(), PostRead, &Component{Object: &part{}}))
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
	for range 2 { // The first call finds no hook.
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
		if err := w.call(t.Context(), PostRead, w.component()); !errors.Is(err, failure) || !passerror.Interrupted(err) {
			t.Errorf("the call of the hook returned %v, want an interruption", err)
		}
	}
}

func TestHooksOfAKindAreCalledInOrderUntilOneFails(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"first", "second", "third"} {
		w.hooks[PreReconcile] = append(w.hooks[PreReconcile],
			func(context.Context, components.Object, DependentReader, Result) error { return w.step(name) })
	}
	w.fails["second"] = errOh
	err := w.call(t.Context(), PreReconcile, w.component())
	if failure := passerror.Of(err); failure == nil || failure.Message != "hook PreReconcile: oh" {
		t.Errorf("the hooks failed with %v", err)
	}
	w.expect("first", "second")
}

func TestTheLastHooksOfAPass(t *testing.T) {
	failed := result.Waiting{
		DependentReport: metav1alpha1.DependentReport{Dependent: "Job x", Message: "no"},
		Failed:          true, Terminal: true,
	}
	for _, c := range []struct {
		name string
		arm  func(*world)
		want []string // the hooks
		// failure is the failure that the hooks get, and message is a part of the condition Ready.
		failure, message string
	}{
		{"a pass without a failure", func(*world) {}, []string{"PostPass"}, "", ""},
		{
			"a pass that waits", func(w *world) { w.outcome.Waiting = []result.Waiting{{}} },
			[]string{"PostPass"},
			"", "waiting",
		},
		{
			"a step that fails", func(w *world) { w.fails["validate"] = errOh },
			[]string{"PostFailure", "PostPass"},
			"oh", "oh",
		},
		{
			"a hook that fails", func(w *world) { w.fails["hook PreReconcile"] = errOh },
			[]string{"PostFailure", "PostPass"},
			"Retrying: hook PreReconcile: oh", "hook PreReconcile: oh",
		},
		{
			"a dependent that failed", func(w *world) { w.outcome.Waiting = []result.Waiting{failed} },
			[]string{"PostFailure", "PostPass"},
			"DependentFailed: failed: Job x (no)", "failed: Job x (no)",
		},
		{
			"PostFailure fails, too",
			func(w *world) { w.fails["validate"], w.fails["hook PostFailure"] = errOh, errors.New("nobody answers") },
			[]string{"PostFailure"},
			"oh", "oh; hook PostFailure: nobody answers",
		},
		{
			"PostPass fails", func(w *world) { w.fails["hook PostPass"] = errOh },
			[]string{"PostPass"},
			"", "hook PostPass: oh",
		},
		{"the first list of a watch is missing", func(w *world) { w.outcome.Observing = true }, nil, "", ""},
		{"a pass that is interrupted", func(w *world) { w.fails["apply"] = context.Canceled }, nil, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.outcome = outcome.Outcome{Outcome: result.Outcome{
				Applied: true, Inventory: []metav1alpha1.InventoryEntry{settings}, Ready: 1, Desired: 1,
			}}
			w.hook(PreReconcile)
			var called []string
			for _, point := range []Point{PostFailure, PostPass} {
				w.hooks[point] = []Hook{func(_ context.Context, _ components.Object, _ DependentReader, r Result) error {
					called = append(called, string(point))
					if got := fmt.Sprint(r.Failure); c.failure != "" && got != c.failure || c.failure == "" && r.Failure != nil {
						t.Errorf("the hook %s got the failure %s", point, got)
					}
					return w.fails["hook "+string(point)]
				}}
			}
			c.arm(w)
			w.reconcile()
			if !slices.Equal(called, c.want) || !strings.Contains(w.ready().Message, c.message) {
				t.Errorf("the pass called %v, and reports %q", called, w.ready().Message)
			}
		})
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
	w.fails = map[string]error{"target": passerror.ErrObserving}
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
