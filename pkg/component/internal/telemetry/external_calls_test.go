package telemetry

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/pkg/component/external"
	"github.com/fairlead-io/fairlead/pkg/component/internal/externals"
	"github.com/fairlead-io/fairlead/pkg/component/internal/metrics"
)

func TestTheResultOfACallIsThatOfItsError(t *testing.T) {
	for want, err := range map[callResult]error{
		resultOK:       nil,
		resultNotFound: fmt.Errorf("look: %w", external.ErrNotFound),
		resultExists:   external.ErrExists,
		resultRefused:  external.Refused(errors.New("no")),
		resultTryLater: fmt.Errorf("call: %w", external.RefusedFor(errors.New("later"), 0)),
		resultFailed:   context.DeadlineExceeded,
	} {
		if got := resultOf(err); got != want {
			t.Errorf("%v: %s, want %s", err, got, want)
		}
	}
}

func TestACallWithoutTracesIsCountedOnly(t *testing.T) {
	m := Monitor{Meter: metrics.NewInstruments().Meter("test.fairlead.io")}
	call := externals.Call{
		Component: types.NamespacedName{Namespace: "a", Name: "b"}, Kind: "Schema", Name: "c", Method: externals.MethodCreate,
	}
	ctx, end := m.StartCall(t.Context(), call)
	if ctx != t.Context() {
		t.Error("without a tracer, the context has no span")
	}
	end(errors.New("lost"))
}
