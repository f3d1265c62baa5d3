package rendering

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Within is like Detached, but with a time limit. The context of render ends when the limit is reached.
func Within(
	ctx context.Context,
	limit time.Duration,
	render func(ctx context.Context) ([]client.Object, error),
) ([]client.Object, error) {
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	objects, err := Detached(bounded, func() ([]client.Object, error) { return render(bounded) })
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil && bounded.Err() != nil {
		return nil, fmt.Errorf("rendering takes longer than the limit of %s", limit)
	}
	return objects, err
}
