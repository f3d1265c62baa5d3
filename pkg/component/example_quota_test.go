package component_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/fairlead-io/fairlead/pkg/component"
)

// This example bounds the dependents of each namespace, and refuses all dependents in a namespace that is closed.
func ExampleQuotaExceeded() {
	limits := component.Limits{Quota: func(_ context.Context, namespace string) (component.Quota, error) {
		if namespace == "closed" {
			return component.Quota{}, component.QuotaExceeded(errors.New("the namespace is closed"))
		}
		return component.Quota{Dependents: 500, SetBy: "the configuration of the operator"}, nil
	}}
	_, err := limits.Quota(context.Background(), "closed")
	fmt.Println(err)
	// Output: QuotaExceeded: the namespace is closed
}
