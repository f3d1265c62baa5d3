package componenttest_test

import (
	"context"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/component/componenttest"
)

// Faults for a test of one's own: whatever uses the configuration meets them, and the log says which.
func ExampleNewInjector() {
	test := func(ctx context.Context, config *rest.Config, work func(client.Client) error) ([]string, error) {
		injector := componenttest.NewInjector(ctx, componenttest.Faults{Seed: 7, Percent: 20})
		c, err := client.New(injector.Config(config), client.Options{})
		if err != nil {
			return nil, err
		}
		return injector.Log(), work(c)
	}
	_ = test
}
