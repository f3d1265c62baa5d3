package publish_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/publish"
)

// packed are the archives that large has made.
var packed = map[byte]publish.Archive{}

// large returns the archive of a folder that needs three ConfigMaps. Another seed is another content.
func large(seed byte) publish.Archive {
	GinkgoHelper()
	if known, ok := packed[seed]; ok {
		return known
	}
	dir := GinkgoT().TempDir()
	noise := make([]byte, 1800<<10)
	_, _ = rand.NewChaCha8([32]byte{seed}).Read(noise)
	write(dir, "Chart.yaml", []byte("name: shop"))
	write(dir, "charts/big.bin", noise)
	archive, err := publish.Pack(dir)
	Expect(err).NotTo(HaveOccurred())
	packed[seed] = archive
	return archive
}

// partsOf returns the names of the ConfigMaps of a large archive.
func partsOf(archive publish.Archive) []string {
	sum := sha256.Sum256(archive.Data)
	var names []string
	for i := range 3 {
		names = append(names, fmt.Sprintf("shop-%s-%d", hex.EncodeToString(sum[:])[:12], i+1))
	}
	return names
}

// publishArchive publishes an archive as the component "shop".
func (s *scene) publishArchive(ctx context.Context, archive publish.Archive) (*unstructured.Unstructured, error) {
	GinkgoHelper()
	p := publish.Publisher{
		Client: s, Done: func(what string) { s.done = append(s.done, what) },
		Warn: func(err error) { s.warnings = append(s.warnings, err) },
	}
	return p.Publish(ctx, publish.Request{Target: target("shop"), Archive: archive})
}

// joined returns the bytes that the parts of the component's source make together, and their digest in the spec.
func (s *scene) joined(ctx context.Context) (archive []byte, digest string) {
	GinkgoHelper()
	c := &v1alpha1.Component{}
	Expect(s.Get(ctx, client.ObjectKey{Namespace: "apps", Name: "shop"}, c)).To(Succeed())
	Expect(c.Spec.Source.ConfigMap).To(BeNil())
	Expect(c.Spec.Source.ConfigMaps).NotTo(BeNil())
	for _, name := range c.Spec.Source.ConfigMaps.Names {
		piece := &corev1.ConfigMap{}
		Expect(s.Get(ctx, client.ObjectKey{Namespace: "apps", Name: name}, piece)).To(Succeed())
		Expect(piece.Immutable).To(HaveValue(BeTrue()))
		Expect(piece.OwnerReferences).To(HaveExactElements(HaveField("UID", c.UID)))
		archive = append(archive, piece.BinaryData[publish.SourceKey]...)
	}
	return archive, c.Spec.Source.ConfigMaps.SHA256
}

// readyRevision is an entry of the history of a revision that was Ready.
func readyRevision(source string) metav1alpha1.RevisionRecord {
	return metav1alpha1.RevisionRecord{
		Revision: 1, Source: source, Started: metav1.Now(), Outcome: metav1alpha1.RevisionReady,
	}
}

var _ = Describe("Publish, with a source of several ConfigMaps", func() {
	isDryRun := func(options []client.CreateOption) bool {
		o := &client.CreateOptions{}
		return slices.Contains(o.ApplyOptions(options).DryRun, metav1.DryRunAll)
	}

	It("writes all parts, and names them only then", func(ctx SpecContext) {
		archive := large(1)
		var order []string
		s := newScene(interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, obj client.Object,
			o ...client.CreateOption,
		) error {
			if !isDryRun(o) {
				order = append(order, obj.GetName())
			}
			return c.Create(ctx, obj, o...)
		}})
		_, err := s.publishArchive(ctx, archive)
		Expect(err).NotTo(HaveOccurred())
		Expect(order).To(Equal(append(partsOf(archive), "shop")))
		got, digest := s.joined(ctx)
		Expect(got).To(Equal(archive.Data))
		sum := sha256.Sum256(archive.Data)
		Expect(digest).To(Equal(hex.EncodeToString(sum[:])))

		s.done = nil
		_, err = s.publishArchive(ctx, archive)
		Expect(err).NotTo(HaveOccurred())
		Expect(s.done).To(Equal([]string{"component.fairlead.io/shop unchanged"}))
	})

	It("finishes what an interrupted apply has begun", func(ctx SpecContext) {
		archive, broken := large(1), false
		s := newScene(interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, obj client.Object,
			o ...client.CreateOption,
		) error {
			if !broken && obj.GetName() == partsOf(archive)[1] {
				broken = true
				return errors.New("the connection broke")
			}
			return c.Create(ctx, obj, o...)
		}}, shop())
		_, err := s.publishArchive(ctx, archive)
		Expect(err).To(MatchError("the connection broke"))
		c := &v1alpha1.Component{}
		Expect(s.Get(ctx, client.ObjectKeyFromObject(shop()), c)).To(Succeed())
		Expect(c.Spec).To(Equal(shop().Spec))

		s.done = nil
		_, err = s.publishArchive(ctx, archive)
		Expect(err).NotTo(HaveOccurred())
		names := partsOf(archive)
		Expect(s.done).To(Equal([]string{
			"configmap/" + names[1] + " created", "configmap/" + names[2] + " created", "component.fairlead.io/shop updated",
		}))
		got, _ := s.joined(ctx)
		Expect(got).To(Equal(archive.Data))
	})

	It("is one source when old sources are deleted", func(ctx SpecContext) {
		first, second, third := large(1), large(2), folder()
		s := newScene(interceptor.Funcs{})
		for _, archive := range []publish.Archive{first, second, third} {
			_, err := s.publishArchive(ctx, archive)
			Expect(err).NotTo(HaveOccurred())
		}
		Expect(s.sources(ctx)).To(ConsistOf(append(partsOf(second), nameOf(third))))
		_, err := s.publishArchive(ctx, first)
		Expect(err).NotTo(HaveOccurred())
		Expect(s.sources(ctx)).To(ConsistOf(append(partsOf(first), nameOf(third))))
	})

	It("keeps all parts of the source of the last revision that was ready", func(ctx SpecContext) {
		good := large(1)
		s := newScene(interceptor.Funcs{})
		_, err := s.publishArchive(ctx, good)
		Expect(err).NotTo(HaveOccurred())
		c := &v1alpha1.Component{}
		Expect(s.Get(ctx, client.ObjectKeyFromObject(shop()), c)).To(Succeed())
		c.Status.History = append(c.Status.History, readyRevision(c.SourceName()))
		Expect(s.Update(ctx, c)).To(Succeed())
		for seed := byte(2); seed < 5; seed++ {
			_, err := s.publishArchive(ctx, large(seed))
			Expect(err).NotTo(HaveOccurred())
		}
		Expect(s.sources(ctx)).To(ConsistOf(slices.Concat(partsOf(good), partsOf(large(3)), partsOf(large(4)))))
	})

	It("leaves the parts alone that somebody is about to name, unless they were left behind", func(ctx SpecContext) {
		inFlight, leftBehind := large(1), large(2)
		var objects []client.Object
		for i := range 2 {
			objects = append(objects, sourceMap(partsOf(inFlight)[i], "", time.Minute),
				sourceMap(partsOf(leftBehind)[i], "", 2*time.Hour))
		}
		s := newScene(interceptor.Funcs{}, append(objects, shop(), sourceMap("shop-444444444444", "1", time.Hour))...)
		_, err := s.publish(ctx)
		Expect(err).NotTo(HaveOccurred())
		now := &corev1.ConfigMap{}
		Expect(s.Get(ctx, client.ObjectKey{Namespace: "apps", Name: nameOf(folder())}, now)).To(Succeed())
		now.CreationTimestamp = metav1.Now()
		Expect(s.Update(ctx, now)).To(Succeed())
		_, err = s.publish(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(s.sources(ctx)).To(ConsistOf(append(partsOf(inFlight)[:2], nameOf(folder()), "shop-444444444444")))
	})

	It("puts a part back that somebody else takes for an old one", func(ctx SpecContext) {
		archive := large(1)
		s := newScene(interceptor.Funcs{Update: func(ctx context.Context, c client.WithWatch, obj client.Object,
			o ...client.UpdateOption,
		) error {
			if obj.GetName() == "shop" {
				part := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: partsOf(archive)[1]}}
				Expect(client.IgnoreNotFound(c.Delete(ctx, part))).To(Succeed())
			}
			return c.Update(ctx, obj, o...)
		}}, shop())
		_, err := s.publishArchive(ctx, archive)
		Expect(err).NotTo(HaveOccurred())
		Expect(s.warnings).To(BeEmpty())
		got, _ := s.joined(ctx)
		Expect(got).To(Equal(archive.Data))
	})

	It("refuses a part with another content, and writes no component", func(ctx SpecContext) {
		archive := large(1)
		other := sourceMap(partsOf(archive)[2], "", time.Minute)
		other.Immutable, other.BinaryData = new(true), map[string][]byte{publish.SourceKey: []byte("other")}
		s := newScene(interceptor.Funcs{}, other)
		_, err := s.publishArchive(ctx, archive)
		Expect(exit.CodeOf(err)).To(Equal(exit.No))
		Expect(err).To(MatchError(ContainSubstring("configmap/" + other.Name +
			` in namespace "apps" has content that does not match its name; make sure that no other component names it`)))
		Expect(s.Get(ctx, client.ObjectKeyFromObject(shop()), shop())).NotTo(Succeed())
	})

	It("keeps the parts of the same content that were packed differently", func(ctx SpecContext) {
		archive := large(1)
		s := newScene(interceptor.Funcs{})
		_, err := s.publishArchive(ctx, archive)
		Expect(err).NotTo(HaveOccurred())
		s.done = nil
		again := publish.Archive{Data: append(slices.Clone(archive.Data), 0), Digest: archive.Digest}
		_, err = s.publishArchive(ctx, again)
		Expect(err).NotTo(HaveOccurred())
		Expect(s.done).To(Equal([]string{"component.fairlead.io/shop unchanged"}))
		Expect(s.sources(ctx)).To(ConsistOf(partsOf(archive)))
	})

	It("writes nothing if the definition of Component is older, and says so", func(ctx SpecContext) {
		invalid := apierrors.NewInvalid(v1alpha1.GroupVersion.WithKind("Component").GroupKind(), "shop", field.ErrorList{
			field.Invalid(field.NewPath("spec", "source"), "{}", "exactly one of inline, configMap and http must be set"),
		})
		s := newScene(interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, obj client.Object,
			o ...client.CreateOption,
		) error {
			if obj.GetName() == "shop" {
				return invalid
			}
			return c.Create(ctx, obj, o...)
		}})
		_, err := s.publishArchive(ctx, large(1))
		Expect(exit.CodeOf(err)).To(Equal(exit.No))
		Expect(err).To(MatchError(And(ContainSubstring("exactly one of"), ContainSubstring("upgrade the operator"))))
		Expect(s.sources(ctx)).To(BeEmpty())
	})

	It("divides a source only if it has to", func(ctx SpecContext) {
		s := newScene(interceptor.Funcs{})
		obj, err := s.publishArchive(ctx, folder())
		Expect(err).NotTo(HaveOccurred())
		Expect(obj.Object["spec"]).To(Equal(map[string]any{
			"adopt": []any{}, "source": map[string]any{"configMap": map[string]any{"name": nameOf(folder())}},
		}))
	})
})

var _ = DescribeTable("Names", func(component, configMap string, want bool) {
	Expect(publish.Names(component, configMap)).To(Equal(want))
},
	Entry("a source", "shop", "shop-0123456789ab", true),
	Entry("a part", "shop", "shop-0123456789ab-3", true),
	Entry("a part with two digits", "shop", "shop-0123456789ab-22", true),
	Entry("the source of another component", "shop", "store-0123456789ab", false),
	Entry("something else", "shop", "shop-settings", false),
	Entry("something else with a number", "shop", "shop-settings-1", false),
	Entry("a part without a number", "shop", "shop-0123456789ab-x", false),
)
