package operator

import (
	"context"
	"io/fs"
	"path"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/version"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/config"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// sample contains the objects in a file of config/samples.
type sample struct {
	component  *v1alpha1.Component
	references generator.References
}

func readSample(name string) sample {
	GinkgoHelper()
	file := path.Join("samples", name)
	objects := must(manifests.Decode(file, must(fs.ReadFile(config.Manifests, file))))
	found := sample{references: generator.References{}}
	for _, object := range objects {
		switch object.GetKind() {
		case "Component":
			found.component = convert[v1alpha1.Component](object)
			found.component.Namespace = "apps"
		case "ConfigMap":
			values := convert[corev1.ConfigMap](object)
			contents := map[string][]byte{}
			for key, text := range values.Data {
				contents[key] = []byte(text)
			}
			found.references[configMap(values.Name)] = contents
		}
	}
	return found
}

// convert converts an object to its Go type. It fails if the object has a field that the type does not have.
func convert[T any](object *unstructured.Unstructured) *T {
	GinkgoHelper()
	var typed T
	Expect(yaml.UnmarshalStrict(must(yaml.Marshal(object.Object)), &typed)).To(Succeed())
	return &typed
}

var _ = Describe("The samples", func() {
	DescribeTable("render",
		func(name string, want ...string) {
			found := readSample(name)
			Expect(found.component.Validate()).To(Succeed())
			objects, err := must(NewGenerator(RenderOptions{})).Generate(context.Background(), generator.Request{
				Namespace: "apps", Name: found.component.Name, Component: found.component, References: found.references,
				Revision:     1,
				Capabilities: generator.Capabilities{Version: version.Info{Major: "1", Minor: "36", GitVersion: "v1.36.3"}},
			})
			Expect(err).NotTo(HaveOccurred())
			var got []string
			for _, object := range objects {
				got = append(got, object.GetObjectKind().GroupVersionKind().Kind+"/"+object.GetName())
			}
			Expect(got).To(ConsistOf(want))
		},
		Entry("a chart", "helm.yaml", "ConfigMap/helm-sample-page", "Deployment/helm-sample", "Service/helm-sample"),
		Entry("a kustomization", "kustomize.yaml", "ConfigMap/prod-settings-k4b9tgf9m9", "Deployment/prod-worker"),
		Entry("a chart with changes", "postrenderers.yaml", "Deployment/postrenderers-sample"),
		Entry("templates", "gotemplate.yaml", "ConfigMap/gotemplate-sample-blue", "ConfigMap/gotemplate-sample-green",
			"Job/gotemplate-sample-announce"),
		Entry("a dependent outside Kubernetes", "externals.yaml", "Schema/orders", "ConfigMap/externals-sample-settings"),
		Entry("a type and its instance", "types.yaml", "CustomResourceDefinition/berths.samples.fairlead.io",
			"ClusterRole/fairlead-operator-berths", "Berth/north"),
	)
})
