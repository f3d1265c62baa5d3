package discovery

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/fairlead-io/fairlead/internal/fuzzing"
)

// answers is a server that answers each request with the same text.
type answers struct {
	body   []byte
	format string
}

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": []string{a.format}}, Body: io.NopCloser(bytes.NewReader(a.body)),
	}, nil
}

// A tenant chooses the server of a kubeconfig, and so its documents.
func FuzzDiscovery(f *testing.F) {
	const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	for _, seed := range []string{
		`{"kind":"APIGroupList","groups":[{"name":"a","versions":[{"groupVersion":"a/v1","version":"v1"}]}]}`,
		`{"kind":"APIResourceList","groupVersion":"a/b/c","resources":[{"name":"b/status","kind":"B","verbs":["list"]}]}`,
		`{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","items":[{"metadata":{"name":"a"},"versions":` +
			`[{"version":"v1","resources":[{"resource":"b","responseKind":{"kind":"B"},"scope":"Namespaced","verbs":["list"]}]}]}]}`,
		`{"versions":["v1"],"gitVersion":"v1"}`, `[]`,
	} {
		f.Add([]byte(seed), aggregated)
		f.Add([]byte(seed), "application/json")
	}
	fuzzing.Run(f, func(t *testing.T, body []byte, format string) {
		config := &rest.Config{Host: "http://a"}
		reader, err := New(t.Context(), Options{
			Config: config, Client: &http.Client{Transport: answers{body, format}},
			FollowDefinitions: func(context.Context, func()) {},
		})
		if err != nil {
			t.Fatal(err)
		}
		resources, err := reader.Resources(t.Context(), "list")
		PartialFailure(err, func(string) bool { return true })
		for _, resource := range resources {
			if resource.Resource == "" {
				t.Errorf("a resource without a name: %v", resource)
			}
		}
		_, _ = reader.AggregatedKinds(t.Context(), schema.GroupVersion{Group: "a", Version: "v1"})
		_, _ = reader.Scope(schema.GroupVersionKind{Group: "a", Version: "v1", Kind: "B"})
		_, _ = reader.HasStatusSubresource(schema.GroupVersionKind{Group: "a", Version: "v1", Kind: "B"})
	})
}
