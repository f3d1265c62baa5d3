package componenttest_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"k8s.io/client-go/rest"

	"github.com/fairlead-io/fairlead/pkg/component/componenttest"
)

// The operator of a scenario calls an external system. Elsewhere WrapCalls changes nothing.
func ExampleWrapCalls() {
	run := func(context.Context, *rest.Config, http.RoundTripper) error { return nil } // as the main function does
	operator := func(ctx context.Context, config *rest.Config, _ string) error {
		return run(ctx, config, componenttest.WrapCalls(ctx, http.DefaultTransport))
	}
	_ = operator // Scenario.Operator
	fmt.Println(componenttest.WrapCalls(context.Background(), http.DefaultTransport) == http.DefaultTransport)
	// Output: true
}

// The answer of a call that took effect is lost.
func ExampleInjector_WrapCalls() {
	api := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { fmt.Println("created") }))
	defer api.Close()
	injector := componenttest.NewInjector(context.Background(), componenttest.Faults{
		Seed: 1, Percent: 100, Kinds: []componenttest.Fault{componenttest.CloudLost},
	})
	client := &http.Client{Transport: injector.WrapCalls(http.DefaultTransport)}
	response, err := client.Post(api.URL+"/records", "application/json", nil)
	if err == nil {
		_ = response.Body.Close()
	}
	fmt.Println("error:", err != nil)
	// Output:
	// created
	// error: true
}
