package operator

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

var _ = Describe("A function", func() {
	const answer = `{"apiVersion":"config.kubernetes.io/v1","kind":"ResourceList","items":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}]`
	var (
		server   *httptest.Server
		received map[string]any
		said     string
		spec     v1alpha1.ComponentSpec
		told     []string
		calls    int
	)
	BeforeEach(func() {
		said, received, told, calls = answer+"}", nil, nil, 0
		server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer GinkgoRecover()
			calls++
			Expect(json.NewDecoder(r.Body).Decode(&received)).To(Succeed())
			_, _ = io.WriteString(w, said)
		}))
		DeferCleanup(server.Close)
		spec = v1alpha1.ComponentSpec{Generator: "Function", Function: &v1alpha1.FunctionGenerator{URL: server.URL}}
	})
	generate := func(references generator.References) ([]string, error) {
		component := newComponent(spec)
		objects, err := must(NewGenerator(RenderOptions{})).Generate(context.Background(), generator.Request{
			Namespace: "prod", Name: "store", Component: component, References: references, Revision: 1,
			Report: func(r generator.Result) { told = append(told, r.String()) },
		})
		Expect(component.Kind).To(BeEmpty(), "the component is read-only")
		var names []string
		for _, object := range objects {
			names = append(names, object.GetName())
		}
		return names, err
	}

	It("receives the values and the items", func() {
		spec.Values = &runtime.RawExtension{Raw: []byte(`{"size":10000000}`)}
		spec.ValuesFrom = []metav1alpha1.ValuesReference{{Kind: "Secret", Name: "values"}}
		spec.Function.Items = []v1alpha1.FunctionItem{{Kind: "ConfigMap", Name: "zones"}}
		Expect(generate(generator.References{
			secret("values"): data("values.yaml", "color: red"), configMap("zones"): data("a", "b"),
		})).To(Equal([]string{"a"}))
		config, _ := received["functionConfig"].(map[string]any)
		Expect(config["metadata"]).To(Equal(map[string]any{"name": "store", "namespace": "prod"}))
		Expect(config["spec"]).To(And(
			HaveKeyWithValue("parameters", map[string]any{"size": 1e7, "color": "red"}),
			HaveKeyWithValue("component", map[string]any{
				"apiVersion": "fairlead.io/v1alpha1", "kind": "Component",
				"namespace": "apps", "name": "shop",
			}),
		))
		Expect(received["items"]).To(HaveExactElements(HaveKeyWithValue("data", map[string]any{"a": "b"})),
			"the Secret with values is not among the items")
	})

	It("is called once to find the origin of an object, so the values remain unknown", func(ctx SpecContext) {
		spec.Values = &runtime.RawExtension{Raw: []byte(`{"size":1,"color":"red"}`)}
		req := generator.Request{Namespace: "apps", Name: "store", Component: newComponent(spec), Revision: 1}
		wanted := wantedMap("a")
		_, err := Trace(ctx, req, wanted)
		Expect(err).To(MatchError("spec.function: functions are not called here"))
		Expect(calls).To(Equal(0))
		wanted.CallFunctions = true
		p, err := Trace(ctx, req, wanted)
		Expect(err).NotTo(HaveOccurred())
		Expect(p.Rendered.GetName()).To(Equal("a"))
		Expect(p.Values).To(BeEmpty())
		Expect(p.Unknown).To(ContainSubstring("called only once"))
		Expect(calls).To(Equal(1))
	})

	It("is followed by post-renderers", func() {
		spec.PostRenderers = []v1alpha1.PostRenderer{{Kustomize: &v1alpha1.KustomizePostRenderer{
			Patches: []v1alpha1.KustomizePatch{{Patch: "{$patch: delete, apiVersion: v1, kind: ConfigMap, " +
				"metadata: {name: a}}"}},
		}}}
		Expect(generate(nil)).To(BeEmpty())
	})

	It("returns results and errors without contents of a Secret", func() {
		spec.ValuesFrom = []metav1alpha1.ValuesReference{{Kind: "Secret", Name: "values"}}
		spec.Function.Items = []v1alpha1.FunctionItem{{Kind: "Secret", Name: "db"}}
		references := generator.References{
			secret("values"): data("values.yaml", "color: crimson"),
			secret("db"):     data("password", "hunter2\n"),
		}
		said = answer + `,"results":[{"severity":"warning","message":"crimson and hunter2","field":{"path":"hunter2"}}]}`
		Expect(generate(references)).To(Equal([]string{"a"}))
		Expect(told).To(Equal([]string{"(redacted): (redacted) and (redacted)"}))
		said = answer + `,"results":[{"severity":"error","message":"hunter2 is weak"}]}`
		_, err := generate(references)
		Expect(err).To(MatchError("spec.function: " + server.URL + ": (redacted) is weak"))
	})

	It("distinguishes transient errors", func() {
		server.Close()
		_, err := generate(nil)
		var retry interface{ RetryAfter() time.Duration }
		Expect(err).To(MatchError(HavePrefix("spec.function: " + server.URL + ": ")))
		Expect(errors.As(err, &retry)).To(BeTrue())
	})

	DescribeTable("reports the field, the object and the key of missing credentials:",
		func(function v1alpha1.FunctionGenerator, contents map[string][]byte, want string) {
			function.URL = "https://127.0.0.1:1"
			spec.Function = &function
			_, err := generate(generator.References{secret("x"): contents, configMap("x"): contents})
			Expect(err).To(MatchError(want))
		},
		Entry("a token", v1alpha1.FunctionGenerator{TokenRef: &v1alpha1.TokenReference{Name: "x"}}, data("a", "b", "c", "d"),
			`spec.function: tokenRef: Secret apps/x has no content under the key "token"; its keys are a, c`),
		Entry("a token under another key", v1alpha1.FunctionGenerator{TokenRef: &v1alpha1.TokenReference{
			Name: "x",
			Key:  "b",
		}}, data("token", ""),
			`spec.function: tokenRef: Secret apps/x has no content under the key "b"; its keys are token`),
		Entry("a CA", v1alpha1.FunctionGenerator{CARef: &v1alpha1.CAReference{Name: "x"}}, data("ca.crt", ""),
			`spec.function: caRef: Secret apps/x has no content under the key "ca.crt"; its keys are ca.crt`),
		Entry("a CA in a ConfigMap", v1alpha1.FunctionGenerator{CARef: &v1alpha1.CAReference{
			Kind: "ConfigMap", Name: "x",
			Key: "ca",
		}}, nil,
			`spec.function: caRef: ConfigMap apps/x has no content under the key "ca"; its keys are none`),
		Entry("an invalid CA", v1alpha1.FunctionGenerator{CARef: &v1alpha1.CAReference{Name: "x"}},
			data("ca.crt", "hunter2"),
			`spec.function: ca: no certificate in PEM form found`),
		Entry("a key", v1alpha1.FunctionGenerator{ClientCertificateRef: &v1alpha1.SecretReference{Name: "x"}},
			data("tls.crt", "a"),
			`spec.function: clientCertificateRef: Secret apps/x has no content under the key "tls.key"; its keys are tls.crt`),
	)

	It("occupies at most half of the workers", func() {
		Expect([]int{functionCalls(0), functionCalls(1), functionCalls(2), functionCalls(9), functionCalls(100)}).
			To(Equal([]int{4, 1, 1, 4, 50}))
	})
})
