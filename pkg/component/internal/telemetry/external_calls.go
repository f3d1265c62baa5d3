package telemetry

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/pkg/component/external"
	"github.com/fairlead-io/fairlead/pkg/component/internal/externals"
	"github.com/fairlead-io/fairlead/pkg/component/internal/metrics"
	"github.com/fairlead-io/fairlead/pkg/component/internal/tracing"
)

// callResult is the result of a call about an external, in the metrics and traces.
type callResult string

const (
	resultOK       callResult = "ok"
	resultNotFound callResult = "not-found"
	resultExists   callResult = "exists"
	resultRefused  callResult = "refused"
	resultTryLater callResult = "try-later"
	resultFailed   callResult = "failed"
)

// resultOf returns the result of a call with the given error.
func resultOf(err error) callResult {
	refused, isRefused := errors.AsType[*external.RefusedError](err)
	switch {
	case err == nil:
		return resultOK
	case errors.Is(err, external.ErrNotFound):
		return resultNotFound
	case errors.Is(err, external.ErrExists):
		return resultExists
	case isRefused && refused.Temporary:
		return resultTryLater
	case isRefused:
		return resultRefused
	}
	return resultFailed
}

// StartCall implements externals.Monitor.
func (m Monitor) StartCall(ctx context.Context, c externals.Call) (context.Context, func(error)) {
	method := strings.ToLower(string(c.Method))
	began := time.Now()
	ctx, span := m.Tracer.StartExternalCall(ctx, tracing.ExternalCall{
		Component: c.Component, Kind: c.Kind, Name: c.Name, Method: method,
	})
	return ctx, func(err error) {
		r, message := resultOf(err), ""
		if err != nil && r != resultNotFound {
			message = err.Error()
		}
		m.Meter.CountExternalCall(c.Kind, method, string(r), time.Since(began))
		span.SetExternalResult(string(r), message)
		span.End()
	}
}

// ExportExternals exports the numbers of the externals of a Manager until the returned function is called.
func (m Monitor) ExportExternals(of *externals.Manager) (stop func()) {
	return m.Meter.ExportExternals(func() map[string]map[string]int {
		all := map[string]map[string]int{}
		for kind, counts := range of.Count() {
			all[kind] = map[string]int{}
			for _, state := range externals.Statuses() {
				all[kind][string(state)] = counts[state]
			}
		}
		return all
	})
}

var _ externals.Monitor = Monitor{Meter: (*metrics.Meter)(nil)}
