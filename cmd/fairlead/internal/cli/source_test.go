package cli_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/source"
)

// archiveServer serves the content of a folder, which may change, as an archive.
type archiveServer struct {
	*recorder
	dir atomic.Pointer[string]
}

func serveArchive(files ...string) *archiveServer {
	s := &archiveServer{}
	s.serve(files...)
	s.recorder = newRecorder(http.HandlerFunc(func(w http.ResponseWriter,
		_ *http.Request,
	) {
		_, _ = w.Write(s.archive())
	}))
	return s
}

func (s *archiveServer) serve(files ...string) {
	dir := folder(files...)
	s.dir.Store(&dir)
}

func (s *archiveServer) archive() []byte {
	return must(source.Pack(os.DirFS(*s.dir.Load())))
}

func (s *archiveServer) digest() string {
	sum := sha256.Sum256(s.archive())
	return hex.EncodeToString(sum[:])
}

var _ = Describe("an archive behind a URL", onCluster(func() {
	absent := func(ctx context.Context, namespace string) {
		GinkgoHelper()
		err := k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "shop"}, &v1alpha1.Component{})
		Expect(apierrors.IsNotFound(err)).To(BeTrue())
		Expect(requests(ctx, namespace, "components", "configmaps").Writes()).To(BeEmpty())
	}
	manifest := func(spec string) string {
		return filepath.Join(folder("shop.yaml", "apiVersion: fairlead.io/v1alpha1\nkind: Component\n"+
			"metadata: {name: shop}\nspec: "+spec), "shop.yaml")
	}

	It("is downloaded once, and written as URL and digest, without a ConfigMap", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		s := serveArchive(append(shopTemplates(), "templates/NOTES.txt", "The color is {{ .Values.color }}.")...)
		place := s.URL + "/shop.tgz"
		r := fairlead(ctx, namespace, "apply", "shop", place, "--set", "color=blue")
		Expect(r).To(Equal(result{Out: "component.fairlead.io/shop created\nThe color is blue.\n"}))
		Expect(s.received()).To(HaveLen(1))
		c := shopIn(ctx, namespace)
		Expect(c.Spec.Source).To(Equal(v1alpha1.Source{HTTP: &v1alpha1.HTTPSource{URL: place, SHA256: s.digest()}}))
		Expect(sources(ctx, namespace)).To(BeEmpty())
		r = fairlead(ctx, namespace, "apply", "shop", place, "--set", "color=blue")
		Expect(r.Out).To(HavePrefix("component.fairlead.io/shop unchanged\n"))

		s.serve(append(shopTemplates(), "templates/more.yaml",
			"{apiVersion: v1, kind: ConfigMap, metadata: {name: more}}")...)
		r = fairlead(ctx, namespace, "apply", "shop", place)
		Expect(r).To(Equal(result{Out: "component.fairlead.io/shop updated\n"}))
		Expect(shopIn(ctx, namespace).Spec.Source.HTTP.SHA256).To(Equal(s.digest()))
		Expect(valuesOf(shopIn(ctx, namespace))).To(MatchJSON(`{"color": "blue"}`))
	})

	It("is planned, compared and rendered, and nothing is written", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		s := serveArchive(shopTemplates()...)
		Expect(fairlead(ctx, namespace, "plan", "shop", s.URL)).To(And(HaveField("Code", 0), HaveField("Err", ""),
			HaveField("Out", And(ContainSubstring(namespace+"/settings"), ContainSubstring("4 to create")))))
		Expect(fairlead(ctx, namespace, "diff", "shop", s.URL, "--set", "color=green")).To(And(HaveField("Code", 1),
			HaveField("Err", ""), HaveField("Out", ContainSubstring("+  color: green"))))
		Expect(fairlead(ctx, namespace, "apply", "shop", s.URL, "--dry-run").Out).To(ContainSubstring("4 to create"))
		Expect(s.received()).To(HaveLen(3))
		Expect(run(ctx, "fairlead", "render", s.URL, "-n", "apps")).
			To(Equal(run(ctx, "fairlead", "render", *s.dir.Load(), "-n", "apps")))
		Expect(run(ctx, "fairlead", "rbac", "shop", "--dir", s.URL, "-n", "apps")).
			To(Equal(run(ctx, "fairlead", "rbac", "shop", "--dir", *s.dir.Load(), "-n", "apps")))
		absent(ctx, namespace)
	})

	It("is not written if the plan is refused", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		Expect(k8s.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "settings"}})).
			To(Succeed())
		s := serveArchive(shopTemplates()...)
		r := fairlead(ctx, namespace, "apply", "shop", s.URL)
		Expect(r.Code).To(Equal(1))
		Expect(r.Err).To(ContainSubstring("would adopt ConfigMap " + namespace + "/settings"))
		s.serve("Chart.yaml", shopChart, "templates/a.yaml", "{{ fail `no color` }}")
		r = fairlead(ctx, namespace, "apply", "shop", s.URL)
		Expect(r.Code).To(Equal(2))
		Expect(r.Err).To(ContainSubstring("no color"))
		absent(ctx, namespace)
	})

	It("is the source of a manifest, which may have its digest", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		s := serveArchive(shopTemplates()...)
		wrong := manifest("{source: {http: {url: '" + s.URL + "', sha256: '" + strings.Repeat("0", 64) + "'}}}")
		for _, command := range []string{"apply", "plan", "diff"} {
			r := fairlead(ctx, namespace, command, "-f", wrong, s.URL)
			Expect(r.Code).To(Equal(2))
			Expect(r.Err).To(ContainSubstring("the archive has the SHA-256 digest " + s.digest() + ", want 0000"))
		}
		Expect(fairlead(ctx, namespace, "apply", "-f", manifest("{source: {http: {url: '"+s.URL+"', sha256: 12}}}"),
			s.URL).Err).
			To(ContainSubstring("cannot unmarshal number into Go struct field HTTPSource.spec.source.http.sha256 " +
				"of type string"))
		absent(ctx, namespace)
		r := fairlead(ctx, namespace, "apply", "-f", wrong, s.URL+"/other.tgz", "--sha256", s.digest())
		Expect(r).To(Equal(result{Out: "component.fairlead.io/shop created\n"}))
		r = fairlead(ctx, namespace, "apply", "-f", manifest("{interval: 1h}"), s.URL)
		Expect(r).To(Equal(result{Out: "component.fairlead.io/shop updated\n"}))
		c := shopIn(ctx, namespace)
		Expect(c.Spec.Interval.Duration.String()).To(Equal("1h0m0s"))
		Expect(c.Spec.Source.HTTP).To(Equal(&v1alpha1.HTTPSource{URL: s.URL, SHA256: s.digest()}))
	})

	It("replaces a local source, and is replaced by one", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		dir := folder(shopTemplates()...)
		Expect(fairlead(ctx, namespace, "apply", "shop", dir).Code).To(Equal(0))
		stored := sources(ctx, namespace)
		s := serveArchive(shopTemplates()...)
		Expect(fairlead(ctx, namespace, "apply", "shop", s.URL)).
			To(Equal(result{Out: "component.fairlead.io/shop updated\n"}))
		Expect(sources(ctx, namespace)).To(Equal(stored), "the previous source is kept")
		Expect(fairlead(ctx, namespace, "apply", "shop", dir)).To(Equal(result{Out: "component.fairlead.io/shop updated\n"}))
		Expect(shopIn(ctx, namespace).Spec.Source.HTTP).To(BeNil())
	})

	It("needs no right on ConfigMaps", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		components := ruleFor("components", "get", "create", "update")
		components.APIGroups = []string{v1alpha1.GroupVersion.Group}
		grantTo(ctx, namespace, "deployer", components)
		s := serveArchive("a.yaml", "{apiVersion: v1, kind: Secret, metadata: {name: login}}")
		Eventually(ctx, func() result {
			return fairlead(ctx, namespace, "apply", "shop", s.URL, "--skip-plan",
				"--as=system:serviceaccount:"+namespace+":deployer")
		}).Should(Equal(result{Out: "component.fairlead.io/shop created\n"}))
	})

	It("warns of a query, which is stored, and prints it nowhere", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		s := serveArchive("a.yaml", "{apiVersion: v1, kind: Secret, metadata: {name: login}}")
		r := fairlead(ctx, namespace, "apply", "shop", s.URL+"/a.tgz?token=hidden")
		Expect(r.Code).To(Equal(0))
		Expect(r.Err).To(HavePrefix("warning: " + s.URL + "/a.tgz: the component stores the URL with its query"))
		Expect(r.Out + r.Err).NotTo(ContainSubstring("hidden"))
		s.serve("Chart.yaml", shopChart, "templates/a.yaml", "{{ fail `no color` }}")
		for _, args := range [][]string{
			{"apply", "shop"},
			{"plan", "shop"},
			{"render"},
			{"render", "--raw"},
			{"rbac", "shop", "--dir"},
		} {
			r = fairlead(ctx, namespace, append(args, s.URL+"/a.tgz?token=hidden")...)
			Expect(r.Code).To(Equal(2), r.Err)
			Expect(r.Out + r.Err).NotTo(ContainSubstring("hidden"))
		}
	})

	DescribeTable("is refused before a request to the cluster", func(ctx SpecContext, args string, want ...string) {
		namespace := newNamespace(ctx)
		s := serveArchive("a.yaml", "a: b")
		args = strings.ReplaceAll(args, "HOST", strings.TrimPrefix(s.URL, "http://"))
		for _, command := range []string{"apply", "plan", "diff"} {
			r := fairlead(ctx, namespace, append([]string{command, "shop"}, strings.Fields(args)...)...)
			Expect(r.Code).To(Equal(2))
			for _, text := range want {
				Expect(r.Err).To(ContainSubstring(text))
			}
		}
		absent(ctx, namespace)
	},
		Entry("with a user", "http://me:secret@HOST/a.tgz", "the URL has a user or a password",
			"download the archive, and name the file"),
		Entry("of a registry", "oci://HOST/a", "helm pull"),
		Entry("with a digest of another form", "http://HOST/a.tgz --sha256 sha256:12", "want 64 hexadecimal digits"),
		Entry("with a digest for a folder", ". --sha256 "+strings.Repeat("0", 64),
			"--sha256 is the digest of the archive behind a URL; . is none"),
		Entry("with a digest without a source", "--sha256 "+strings.Repeat("0", 64), ""),
	)
}))
