package cluster_test

import (
	"testing"

	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
)

func TestRequestsAreNotLimitedOnThisSide(t *testing.T) {
	t.Setenv("KUBECONFIG", "/dev/null")
	flags := cluster.Configure(genericclioptions.NewConfigFlags(true))
	config, err := flags.ToRESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	if config.QPS >= 0 || config.RateLimiter != nil {
		t.Errorf("want no client-side rate limit, got %v requests a second", config.QPS)
	}
}

func TestParseReference(t *testing.T) {
	for text, want := range map[string]cluster.Reference{
		"shop":                          {Name: "shop"},
		"widgets.demo.example.com/shop": {Type: "widgets.demo.example.com", Name: "shop"},
		"widget/Shop.1":                 {Type: "widget", Name: "Shop.1"},
	} {
		if got, err := cluster.ParseReference(text); err != nil || got != want {
			t.Errorf("the reference %s: want %v, got %v and the error %v", text, want, got, err)
		}
	}
	for _, text := range []string{"", "/", "a/", "/b", "a/b/c", "..", "a/50%"} {
		if got, err := cluster.ParseReference(text); err == nil {
			t.Errorf("the invalid reference %q: want an error, got %v", text, got)
		}
	}
}
