package operator

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/source"
)

var _ = Describe("The size of a source", func() {
	const limit = 64 << 10
	files, err := source.FromFiles(map[string][]byte{"a.yaml": []byte(strings.Repeat("#", 1<<20))})
	archive := func() []byte {
		GinkgoHelper()
		Expect(err).NotTo(HaveOccurred())
		packed, err := source.Pack(files)
		Expect(err).NotTo(HaveOccurred())
		Expect(len(packed)).To(BeNumerically("<", limit))
		return packed
	}
	size := func(s v1alpha1.Source, references generator.References) int64 {
		GinkgoHelper()
		c := &v1alpha1.Component{ObjectMeta: metav1.ObjectMeta{Namespace: "shop"}, Spec: v1alpha1.ComponentSpec{Source: s}}
		bytes, err := sourceSize(c, references, nil, limit)
		Expect(err).NotTo(HaveOccurred())
		return bytes
	}
	of := func(name string) generator.Reference {
		return configMapOf(&v1alpha1.Component{ObjectMeta: metav1.ObjectMeta{Namespace: "shop"}}, name)
	}

	It("is the sum of the files", func() {
		Expect(size(v1alpha1.Source{Inline: &v1alpha1.InlineSource{Files: map[string]string{"a": "12", "b": "345"}}}, nil)).
			To(BeEquivalentTo(5))
		Expect(size(v1alpha1.Source{ConfigMap: &v1alpha1.ConfigMapSource{Name: "a"}},
			generator.References{of("a"): {"a": []byte("12"), "b": []byte("345")}})).To(BeEquivalentTo(5))
		c := &v1alpha1.Component{Spec: v1alpha1.ComponentSpec{Source: v1alpha1.Source{HTTP: &v1alpha1.HTTPSource{}}}}
		Expect(sourceSize(c, nil, files, limit)).To(BeEquivalentTo(1 << 20))
	})
	It("is that of the uncompressed archive, of which not more than the limit is read", func() {
		packed := archive()
		Expect(size(v1alpha1.Source{ConfigMap: &v1alpha1.ConfigMapSource{Name: "a"}},
			generator.References{of("a"): {"a.tgz": packed}})).To(BeEquivalentTo(limit + 1 + len(packed)))
		parts := v1alpha1.Source{ConfigMaps: &v1alpha1.ConfigMapsSource{Names: []string{"a", "b"}}}
		Expect(size(parts, generator.References{of("a"): {"part": packed[:100]}, of("b"): {"part": packed[100:]}})).
			To(BeEquivalentTo(limit + 1))
		Expect(size(parts, generator.References{of("a"): {"part": []byte("no archive")}})).To(BeZero())
	})
})

var _ = DescribeTable("The value of a quota", func(annotation, text string, want int64, message string) {
	limit, err := parseQuota(annotation, text)
	if message != "" {
		Expect(err).To(MatchError(ContainSubstring(message)))
		return
	}
	Expect(err).NotTo(HaveOccurred())
	Expect(limit).To(Equal(want))
},
	Entry("is a number of dependents", AnnotationMaxDependents, "500", int64(500), ""),
	Entry("is 0 for no limit", AnnotationMaxDependents, "0", int64(0), ""),
	Entry("is not negative", AnnotationMaxDependents, "-1", int64(0), "want a whole number"),
	Entry("is not empty", AnnotationMaxDependents, "", int64(0), "want a whole number"),
	Entry("is a quantity of bytes", AnnotationMaxSourceBytes, "10Mi", int64(10<<20), ""),
	Entry("is not a negative quantity", AnnotationMaxSourceBytes, "-1Mi", int64(0), "want a number of bytes"),
	Entry("is not a word", AnnotationMaxSourceBytes, "much", int64(0), "want a number of bytes"),
)
