package function

import (
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/fuzzing"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

// The response of a function comes from a service of a tenant. The request to a handler comes from any client.
func FuzzResourceList(f *testing.F) {
	const head = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n"
	for _, seed := range []string{
		head + "items: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: " +
			"{config.kubernetes.io/local-config: 'true'}}}]\n",
		head + "items: [null, {}]\nresults: [{message: a, severity: error, resourceRef: {kind: A}, field: {path: b}}]\n",
		head + "results: [{severity: info, message: token}]\nitems: [{a: &a [1], b: *a}]\n",
		head + "functionConfig: {apiVersion: fairlead.io/v1alpha1, kind: Request, metadata: {name: a}, " +
			"spec: {parameters: {a: 1}, kubernetes: {version: v1, apiVersions: [v1]}, component: {kind: A}}}\n",
		`{"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": [{"items": [[[]]]}]}`,
	} {
		f.Add([]byte(seed))
	}
	fuzzing.Run(f, func(t *testing.T, text []byte) {
		const token = "token"
		told := func(r generator.Result) {
			if strings.Contains(r.String(), token) {
				t.Errorf("a result contains the token: %s", r)
			}
		}
		objects, err := read(text, nil, token, generator.Request{Report: told})
		if err != nil && objects != nil {
			t.Errorf("got %v, %v", objects, err)
		}
		list, err := decodeList(text)
		if err != nil {
			return
		}
		if request, err := requestOf(list); err == nil && request.Name == "" {
			t.Error("a request without a name was accepted")
		}
	})
}
