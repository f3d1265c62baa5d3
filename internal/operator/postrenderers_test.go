package operator

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

var _ = Describe("Post-renderers", func() {
	const deployment = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 1, template: " +
		"{spec: {containers: [{name: web, image: nginx}]}}}}"
	render := func(postRenderers string, references generator.References) (map[string]any, error) {
		spec := v1alpha1.ComponentSpec{Source: inline(map[string]string{"a.yaml": deployment})}
		Expect(yaml.UnmarshalStrict([]byte(postRenderers), &spec.PostRenderers)).To(Succeed())
		if references != nil {
			spec.ValuesFrom = []metav1alpha1.ValuesReference{{Kind: "Secret", Name: "db"}}
		}
		objects, err := must(NewGenerator(RenderOptions{})).Generate(context.Background(), generator.Request{
			Namespace: "apps", Name: "shop", Component: newComponent(spec), References: references, Revision: 1,
		})
		if err != nil {
			return nil, err
		}
		Expect(objects).To(HaveLen(1))
		return must(runtime.DefaultUnstructuredConverter.ToUnstructured(objects[0])), nil
	}

	It("change rendered objects with all of their fields", func() {
		got := must(render(`
- kustomize:
    patches:
    - {patch: '[{op: replace, path: /spec/replicas, value: 2}]', target: {kind: Deployment}}
    images: [{name: nginx, newName: example.com/nginx, newTag: "1.28"}]
    commonMetadata: {labels: {team: blue}, annotations: {fairlead.io/order: "1"}}
`, nil))
		Expect(got).To(HaveKeyWithValue("spec", HaveKeyWithValue("replicas", int64(2))))
		containers, _, _ := unstructured.NestedSlice(got, "spec", "template", "spec", "containers")
		Expect(containers).To(Equal([]any{map[string]any{"name": "web", "image": "example.com/nginx:1.28"}}))
		Expect(got["metadata"]).To(Equal(map[string]any{
			"name": "web", "labels": map[string]any{"team": "blue"}, "annotations": map[string]any{"fairlead.io/order": "1"},
		}))
	})

	It("are applied in the order of the list", func() {
		got := must(render(`
- kustomize: {commonMetadata: {labels: {team: blue}}}
- kustomize: {patches: [{patch: '{spec: {replicas: 5}}', target: {labelSelector: team=blue}}]}
- kustomize: {patches: [{patch: '{spec: {replicas: 7}}', target: {labelSelector: team=red}}]}
- kustomize: {commonMetadata: {labels: {team: red}}}
`, nil))
		Expect(got).To(HaveKeyWithValue("spec", HaveKeyWithValue("replicas", int64(5))))
		Expect(got).To(HaveKeyWithValue("metadata", HaveKeyWithValue("labels", map[string]any{"team": "red"})))
	})

	DescribeTable("name the entry and the field with the error:",
		func(postRenderers, want string) {
			_, err := render(postRenderers, nil)
			Expect(err).To(MatchError(HavePrefix(want)))
		},
		Entry("an empty entry", "[{}]", "spec.postRenderers[0]: want kustomize"),
		Entry("an invalid patch", "[{kustomize: {}}, {kustomize: {patches: [{patch: 'a: ['}]}}]",
			"spec.postRenderers[1].kustomize: patches[0]: the patch is not valid YAML: "),
		Entry("a patch without a matching object",
			"[{kustomize: {patches: [{patch: '{apiVersion: v1, kind: Pod, metadata: {name: a}}'}]}}]",
			"spec.postRenderers[0].kustomize: patches[0]: "),
		Entry("an image without name", "[{kustomize: {images: [{name: '', newTag: '1'}]}}]",
			"spec.postRenderers[0].kustomize: images[0]: no name"),
	)

	It("report errors without contents of a Secret", func() {
		_, err := render("[{kustomize: {patches: [{patch: '[{op: remove, path: /spec/hunter2}]', target: {}}]}}]",
			generator.References{secret("db"): data("values.yaml", "password: hunter2")})
		Expect(err).To(MatchError(And(ContainSubstring("/spec/(redacted)"), Not(ContainSubstring("hunter2")))))
	})
})
