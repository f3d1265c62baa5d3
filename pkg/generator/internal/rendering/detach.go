package rendering

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-io/fairlead/internal/authorcode"
)

// Detached runs render and returns its result. If ctx ends before, Detached returns the error of ctx at once; render
// continues in the background, because the libraries of the engines cannot be interrupted, and its result is dropped. A
// panic of render is returned as an error, because the libraries panic on some inputs.
func Detached(ctx context.Context, render func() ([]client.Object, error)) ([]client.Object, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	type result struct {
		objects []client.Object
		err     error
	}
	done := make(chan result, 1)
	go func() {
		var r result
		p := authorcode.Run("the engine", func() { r.objects, r.err = render() })
		if p != nil {
			// The message becomes a condition, which must not change each time, so the stack is only logged.
			log.FromContext(ctx).Error(fmt.Errorf("panic: %v", p.Value), "the engine panicked", "stack", string(p.Stack))
			r.err = p
		}
		done <- r
	}()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case r := <-done:
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return r.objects, r.err
	}
}
