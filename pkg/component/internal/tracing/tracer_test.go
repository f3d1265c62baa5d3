package tracing

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestNothingIsAllocatedWithoutAProvider(t *testing.T) {
	tracer := New(nil, "test.fairlead.io")
	action := plan.Action{Verb: plan.VerbCreate, Key: manifests.Key{Kind: "ConfigMap", Namespace: "shop", Name: "settings"}}
	result := plan.Result{Verb: plan.VerbCreate, Failure: &plan.Failure{Reason: "Forbidden", Message: "no"}}
	allocations := testing.AllocsPerRun(100, func() {
		ctx, pass := tracer.Pass(context.Background(), "Gadget", types.NamespacedName{Namespace: "shop", Name: "app"}, 1)
		waveCtx, wave := tracer.Wave(ctx, 1, false)
		_, write := tracer.Action(waveCtx, action)
		write.Result(result)
		write.End()
		wave.End()
		tracer.Fail(ctx, "no")
		tracer.Outcome(ctx, "Retrying", "Forbidden")
		pass.End()
	})
	if allocations != 0 {
		t.Errorf("%v allocations", allocations)
	}
}
