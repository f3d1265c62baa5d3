package rendering

import (
	"context"
	"errors"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

func TestARenderingThatIsKilledThreeTimesIsNotTriedAgain(t *testing.T) {
	s := newScene(t)
	s.request.Kills = &Kills{}
	killed := func(context.Context, generator.Request) ([]client.Object, error) {
		return nil, &generator.KilledError{Cause: "it needed more than 512 MiB of memory"}
	}
	s.generate = killed
	renders := func(wantCalls int, wantReason, wantMessage string) {
		t.Helper()
		_, calls, err := s.render()
		got := passerror.Of(err)
		if calls != wantCalls || got == nil || got.Reason != wantReason || got.Message != wantMessage ||
			got.Terminal != (wantReason != metav1alpha1.ReasonRetrying) {
			t.Fatalf("%d calls, %+v", calls, got)
		}
	}
	const once = "the rendering was killed: it needed more than 512 MiB of memory"
	const refused = once + "; this happened 3 times in a row, so nothing is rendered until the inputs change: the spec, " +
		"the referenced objects, the source or an export"
	renders(1, metav1alpha1.ReasonRetrying, once)
	renders(1, metav1alpha1.ReasonRetrying, once)
	renders(1, metav1alpha1.ReasonRenderingKilled, refused)
	renders(0, metav1alpha1.ReasonRenderingKilled, refused)

	s.request.Exports = []metav1alpha1.AskedExport{{Name: "size", Value: "2"}}
	renders(1, metav1alpha1.ReasonRetrying, once)
	s.request.Requested = "now"
	renders(1, metav1alpha1.ReasonRetrying, once)
	s.request.Inputs.Digest = "others"
	renders(1, metav1alpha1.ReasonRetrying, once)

	s.generate = func(context.Context, generator.Request) ([]client.Object, error) {
		return nil, errors.New("bad values")
	}
	renders(1, metav1alpha1.ReasonGenerateFailed, "bad values")
	s.generate = func(context.Context, generator.Request) ([]client.Object, error) {
		return []client.Object{settings("a", "1")}, nil
	}
	if _, _, err := s.render(); err != nil || *s.request.Kills != (Kills{}) {
		t.Fatalf("%v, %+v", err, s.request.Kills)
	}
}
