package component

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"

	"github.com/fairlead-io/fairlead/pkg/component/internal/condition"
)

func TestHooksAreBound(t *testing.T) {
	for _, c := range []struct {
		name     string
		hook     Hook[*part]
		terminal bool
		reason   string
		says     string
	}{
		{
			"a hook that panics fails as one that says that it does not go away",
			func(context.Context, *part, DependentReader) error { panic("a bug") },
			true, metav1alpha1.ReasonHookFailed, "hook PostRead: terminal error: the hook panicked: a bug",
		},
		{
			"a hook that hangs ends after its time, and is retried",
			func(ctx context.Context, _ *part, _ DependentReader) error {
				<-ctx.Done()
				return ctx.Err()
			},
			false, metav1alpha1.ReasonRetrying, "hook PostRead: it took longer than 30s",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := NewReconciler[*part]("parts.example.com", nil, Options{})
				began := time.Now()
				p := condition.Of(r.call(t.Context(), "PostRead", c.hook, &part{}))
				if p == nil || p.Terminal != c.terminal || p.Reason != c.reason || !strings.Contains(p.Message, c.says) {
					t.Errorf("got %+v", p)
				}
				if took := time.Since(began); took > maxHook {
					t.Errorf("it took %s", took)
				}
			})
		})
	}
}
