package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// inline returns a source with a single file.
func inline(name, content string) v1alpha1.Source {
	return v1alpha1.Source{Inline: &v1alpha1.InlineSource{Files: map[string]string{name: content}}}
}

func fromConfigMap() v1alpha1.Source {
	return v1alpha1.Source{ConfigMap: &v1alpha1.ConfigMapSource{Name: "src"}}
}

func valuesFrom() []metav1alpha1.ValuesReference {
	return []metav1alpha1.ValuesReference{{Kind: metav1alpha1.ConfigMapReference, Name: "src"}}
}

// settings is the template of a dependent that contains the value level.
const settings = "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {level: '{{ .Values.level }}'}}"

// hostile returns an archive with a single entry that is forbidden, such as a link.
func hostile(header tar.Header) []byte {
	GinkgoHelper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	archive := tar.NewWriter(zipped)
	Expect(archive.WriteHeader(&header)).To(Succeed())
	_ = archive.Close() // Close fails if the content of the entry is missing.
	Expect(zipped.Close()).To(Succeed())
	return out.Bytes()
}

// binary returns data of the ConfigMap src.
func binary(key string, content []byte) map[string][]byte { return map[string][]byte{key: content} }

var _ = Describe("Bad input", func() {
	DescribeTable("in a component leads to a condition with the position and the error:",
		func(ctx SpecContext, spec v1alpha1.ComponentSpec, data map[string][]byte, want string) {
			namespace := newNamespace(ctx)
			if data != nil {
				source := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "src"}, BinaryData: data}
				Expect(administrator.Create(ctx, source)).To(Succeed())
			}
			component := createComponent(ctx, namespace, "bad", spec)
			want = strings.ReplaceAll(want, "NAMESPACE", namespace)
			Eventually(status(ctx, component)).WithTimeout(soon).Should(Equal(want))
		},
		Entry("no ConfigMap", v1alpha1.ComponentSpec{Source: fromConfigMap()}, nil,
			`Stalled ReferenceNotFound: ConfigMap NAMESPACE/src does not exist; create it (a source without the ownerReferences of a backup, or with fairlead apply)`),
		Entry("no key for values", v1alpha1.ComponentSpec{Source: inline("a.yaml", settings), ValuesFrom: valuesFrom()},
			binary("b.yaml", nil),
			`Stalled GenerateFailed: spec.valuesFrom[0]: ConfigMap NAMESPACE/src has no key "values.yaml"; its keys are b.yaml`),
		Entry("invalid values", v1alpha1.ComponentSpec{Source: inline("a.yaml", settings), ValuesFrom: valuesFrom()},
			binary("values.yaml", []byte("a: 1\nb: [\n")),
			`Stalled GenerateFailed: spec.valuesFrom[0]: ConfigMap NAMESPACE/src, key "values.yaml": invalid YAML: line 2: did not find expected node content`),
		Entry("an archive with a path that leaves the archive", v1alpha1.ComponentSpec{Source: fromConfigMap()},
			binary("a.tgz", hostile(tar.Header{Name: "../etc/passwd"})),
			`Stalled GenerateFailed: spec.source.configMap: ConfigMap NAMESPACE/src, key "a.tgz": entry "../etc/passwd": the path holds "..", which could leave the source`),
		Entry("an archive with a link", v1alpha1.ComponentSpec{Source: fromConfigMap()},
			binary("a.tgz", hostile(tar.Header{Typeflag: tar.TypeSymlink, Name: "a", Linkname: "/etc/passwd"})),
			`Stalled GenerateFailed: spec.source.configMap: ConfigMap NAMESPACE/src, key "a.tgz": entry "a": it is a link to "/etc/passwd"; links are refused, put the file itself into the archive`),
		Entry("a bomb", v1alpha1.ComponentSpec{Source: fromConfigMap()},
			binary("a.tgz", hostile(tar.Header{Name: "a", Size: 1 << 30})),
			`Stalled GenerateFailed: spec.source.configMap: ConfigMap NAMESPACE/src, key "a.tgz": entry "a": it holds 1073741824 bytes, more than the limit of 8388608 for a file`),
		Entry("a missing folder", v1alpha1.ComponentSpec{Source: inline("a.yaml", settings), Path: "charts"}, nil,
			`Stalled GenerateFailed: spec.path: folder "charts": not found in the source; the source holds a.yaml`),
		Entry("a missing value of a chart",
			v1alpha1.ComponentSpec{Source: v1alpha1.Source{Inline: &v1alpha1.InlineSource{Files: map[string]string{
				"Chart.yaml": "{apiVersion: v2, name: a, version: 1.0.0}", "templates/a.yaml": "a: b\nc: {{ .Values.x.y }}",
			}}}}, nil,
			`Stalled GenerateFailed: chart a: render template: a/templates/a.yaml:2:13: executing "a/templates/a.yaml" at <.Values.x.y>: nil pointer evaluating interface {}.y`),
		Entry("a kustomization with a remote resource", v1alpha1.ComponentSpec{Source: inline("kustomization.yaml",
			"resources: [https://example.com/a.yaml]")}, nil,
			`Stalled GenerateFailed: kustomization.yaml: resources: "https://example.com/a.yaml" is a remote address, and remote files are not fetched: copy it into the source (write ./ in front of a local path that looks remote)`),
		Entry("a template that cannot be parsed", v1alpha1.ComponentSpec{Source: inline("a.yaml", "a: 1\nb: {{ .Values.x")},
			nil,
			`Stalled GenerateFailed: parse template: a.yaml:2: unclosed action`),
		Entry("a manifest without kind", v1alpha1.ComponentSpec{Source: inline("a.yaml",
			"\napiVersion: v1\nmetadata: {name: a}\n")}, nil,
			`Stalled GenerateFailed: a.yaml (rendered):2: no kind: write one, such as ConfigMap`),
		Entry("a bad setting", v1alpha1.ComponentSpec{Source: inline("a.yaml",
			"{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {fairlead.io/order: first}}}")}, nil,
			`Stalled InvalidManifests: ConfigMap a: annotation fairlead.io/order: "first" is not a whole number from -32768 to 32767`),
		Entry("an object that the API server refuses",
			v1alpha1.ComponentSpec{Source: inline("a.yaml",
				"{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {ports: [{port: 70000, targetPort: 1}]}}")}, nil,
			`Stalled DependentFailed: failed: Service NAMESPACE/a (spec.ports[0].port: Invalid value: 70000: must be between 1 and 65535, inclusive)`),
		Entry("a missing namespace that must not be created", v1alpha1.ComponentSpec{
			Source:        inline("a.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"),
			PlacementSpec: metav1alpha1.PlacementSpec{TargetNamespace: "nowhere"},
			PoliciesSpec:  metav1alpha1.PoliciesSpec{MissingNamespacesPolicy: metav1alpha1.MissingNamespacesRefuse},
		}, nil,
			`Progressing Retrying: failed: ConfigMap nowhere/a (namespace nowhere does not exist; create it, or add it to the manifests)`),
		Entry("a type that the operator has no right to write",
			v1alpha1.ComponentSpec{Source: inline("a.yaml", "{apiVersion: "+
				"certificates.k8s.io/v1, kind: CertificateSigningRequest, metadata: {name: a}, spec: {request: eA==, signerName: "+
				"a.b/c, usages: [any]}}")}, nil,
			`Stalled DependentFailed: failed: CertificateSigningRequest.certificates.k8s.io a (certificatesigningrequests.certificates.k8s.io "a" is forbidden: `+
				`User "`+operatorUser+
				`" cannot get resource "certificatesigningrequests" in API group "certificates.k8s.io" at the cluster scope; grant it to that user); `+
				`read at the retry interval, because they cannot be watched: CertificateSigningRequest.certificates.k8s.io (`+
				`failed to list dependents of type CertificateSigningRequest.certificates.k8s.io: certificatesigningrequests.certificates.k8s.io is forbidden: `+
				`User "`+operatorUser+
				`" cannot list resource "certificatesigningrequests" in API group "certificates.k8s.io" at the cluster scope; allow list and watch)`),
	)

	It("in a component is detected as corrected at once, without a wait for the retry interval", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		component := createComponent(ctx, namespace, "shop", v1alpha1.ComponentSpec{
			Source: inline("a.yaml", settings), Path: "charts", Values: &runtime.RawExtension{Raw: []byte(`{"level":"info"}`)},
		})
		Eventually(status(ctx, component)).WithTimeout(soon).Should(HavePrefix("Stalled GenerateFailed: "))
		Expect(administrator.Patch(ctx, component, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"path":null}}`)))).
			To(Succeed())
		Eventually(status(ctx, component)).WithTimeout(soon).Should(HavePrefix("Ready Ready: "))
	}, SpecTimeout(time.Minute))

	It("in spec.targetNamespace does not move existing dependents to the other namespace", func(ctx SpecContext) {
		namespace, other := newNamespace(ctx), newNamespace(ctx)
		component := createComponent(ctx, namespace, "shop", v1alpha1.ComponentSpec{
			Source: inline("a.yaml", settings), Values: &runtime.RawExtension{Raw: []byte(`{"level":"info"}`)},
		})
		Eventually(status(ctx, component)).WithTimeout(soon).Should(HavePrefix("Ready Ready: "))
		patch := client.RawPatch(types.MergePatchType,
			fmt.Appendf(nil, `{"spec":{"targetNamespace":%q,"values":{"level":"debug"}}}`, other))
		Expect(administrator.Patch(ctx, component, patch)).To(Succeed())
		Eventually(status(ctx, component)).WithTimeout(soon).Should(Equal(fmt.Sprintf(
			"Stalled InvalidSpec: target %s/shop cannot change to %s/shop while the component has 1 dependent; change it back; "+
				"to move it, "+
				"create another component with the new target first, and delete this one, which deletes its dependents, with what "+
				"only the cluster has of them",
			namespace, other)))
		var untouched corev1.ConfigMap
		Expect(administrator.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "settings"}, &untouched)).To(Succeed())
		Expect(untouched.Data).To(Equal(map[string]string{"level": "info"}))
	}, SpecTimeout(time.Minute))
})
