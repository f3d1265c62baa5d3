package operator

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"testing/fstest"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/source"
)

// recorder is an engine that records its last request and the number of its calls.
type recorder struct {
	request generator.Request
	calls   int
	err     error
}

func (r *recorder) Generate(_ context.Context, req generator.Request) ([]client.Object, error) {
	r.request = req
	r.calls++
	return nil, r.err
}

func inline(files map[string]string) v1alpha1.Source {
	return v1alpha1.Source{Inline: &v1alpha1.InlineSource{Files: files}}
}

func fromConfigMap() v1alpha1.Source {
	return v1alpha1.Source{ConfigMap: &v1alpha1.ConfigMapSource{Name: "src"}}
}

// fromConfigMaps is a source whose parts are in the given ConfigMaps.
func fromConfigMaps(archive string, names ...string) v1alpha1.Source {
	sum := sha256.Sum256([]byte(archive))
	return v1alpha1.Source{ConfigMaps: &v1alpha1.ConfigMapsSource{Names: names, SHA256: hex.EncodeToString(sum[:])}}
}

func newComponent(spec v1alpha1.ComponentSpec) *v1alpha1.Component {
	return &v1alpha1.Component{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "shop"}, Spec: spec}
}

func configMap(name string) generator.Reference {
	return generator.Reference{Kind: metav1alpha1.ConfigMapReference, Namespace: "apps", Name: name}
}

func secret(name string) generator.Reference {
	return generator.Reference{Kind: metav1alpha1.SecretReference, Namespace: "apps", Name: name}
}

func data(keysAndContents ...string) map[string][]byte {
	contents := map[string][]byte{}
	for i := 0; i < len(keysAndContents); i += 2 {
		contents[keysAndContents[i]] = []byte(keysAndContents[i+1])
	}
	return contents
}

func pack(files fstest.MapFS) string {
	GinkgoHelper()
	archive, err := source.Pack(files)
	Expect(err).NotTo(HaveOccurred())
	return string(archive)
}

// hostile returns an archive with a single forbidden entry, which Pack would never write.
func hostile(header tar.Header) string {
	GinkgoHelper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	archive := tar.NewWriter(zipped)
	Expect(archive.WriteHeader(&header)).To(Succeed())
	_ = archive.Close() // Close fails if the content of the entry is missing.
	Expect(zipped.Close()).To(Succeed())
	return out.String()
}

var _ = Describe("The generator of Components", func() {
	var (
		engines map[generator.Engine]*recorder
		subject generator.Generator
	)
	BeforeEach(func() {
		engines = map[generator.Engine]*recorder{}
		all := map[generator.Engine]generator.Generator{}
		for _, name := range []generator.Engine{generator.EngineHelm, generator.EngineKustomize, generator.EngineGoTemplate} {
			engines[name] = &recorder{}
			all[name] = engines[name]
		}
		subject = newGenerator(all, nil)
	})
	generate := func(spec v1alpha1.ComponentSpec, references generator.References) error {
		_, err := subject.Generate(context.Background(), generator.Request{
			Namespace: "apps", Name: "shop", Component: newComponent(spec), References: references, Revision: 7,
		})
		return err
	}
	calls := func() map[generator.Engine]int {
		made := map[generator.Engine]int{}
		for name, engine := range engines {
			if engine.calls > 0 {
				made[name] = engine.calls
			}
		}
		return made
	}
	chart := fstest.MapFS{
		"shop/Chart.yaml": {Data: []byte("name: shop")}, "shop/templates/a.yaml": {},
		"base/kustomization.yaml": {},
	}

	DescribeTable("selects the engine:",
		func(spec v1alpha1.ComponentSpec, references generator.References, want generator.Engine) {
			Expect(generate(spec, references)).To(Succeed())
			Expect(calls()).To(Equal(map[generator.Engine]int{want: 1}))
		},
		Entry("Helm for a chart", v1alpha1.ComponentSpec{Source: inline(map[string]string{"Chart.yaml": ""})}, nil,
			generator.EngineHelm),
		Entry("Kustomize for a kustomization",
			v1alpha1.ComponentSpec{Source: inline(map[string]string{"kustomization.yaml": ""})}, nil, generator.EngineKustomize),
		Entry("GoTemplate for other files", v1alpha1.ComponentSpec{Source: inline(map[string]string{"a.yaml": ""})}, nil,
			generator.EngineGoTemplate),
		Entry("the engine in the spec", v1alpha1.ComponentSpec{
			Source:    inline(map[string]string{"Chart.yaml": ""}),
			Generator: "GoTemplate",
		}, nil, generator.EngineGoTemplate),
		Entry("by the files in spec.path", v1alpha1.ComponentSpec{Source: fromConfigMap(), Path: "base"},
			generator.References{configMap("src"): data("a.tgz", pack(chart))}, generator.EngineKustomize),
		Entry("by the keys of a flat ConfigMap", v1alpha1.ComponentSpec{Source: fromConfigMap()},
			generator.References{configMap("src"): data("Chart.yaml", "")}, generator.EngineHelm),
	)

	It("passes the folder, its digest, the values and its own request to the engine", func() {
		references := generator.References{configMap("src"): data("a.tgz", pack(chart))}
		spec := v1alpha1.ComponentSpec{
			Source: fromConfigMap(), Path: "shop", Values: &runtime.RawExtension{Raw: []byte(`{"port":8080,"ratio":0.5}`)},
		}
		Expect(generate(spec, references)).To(Succeed())
		got := engines[generator.EngineHelm].request
		Expect(fs.ReadFile(got.Source, "Chart.yaml")).To(BeEquivalentTo("name: shop"))
		Expect(got.SourceDigest).To(Equal(must(source.Digest(must(fs.Sub(chart, "shop"))))))
		Expect(got.Parameters).To(Equal(map[string]any{"port": int64(8080), "ratio": 0.5}))
		Expect([]any{got.Namespace, got.Name, got.Revision, got.References}).
			To(Equal([]any{"apps", "shop", int64(7), references}))
	})

	It("unpacks each archive once", func() {
		spec := v1alpha1.ComponentSpec{Source: fromConfigMap(), Path: "shop"}
		references := generator.References{configMap("src"): data("a.tgz", pack(chart))}
		Expect(generate(spec, references)).To(Succeed())
		first := engines[generator.EngineHelm].request
		Expect(generate(spec, references)).To(Succeed())
		Expect(engines[generator.EngineHelm].request.Source).To(BeIdenticalTo(first.Source))

		changed := fstest.MapFS{"shop/Chart.yaml": {Data: []byte("name: other")}}
		references[configMap("src")] = data("a.tgz", pack(changed))
		Expect(generate(spec, references)).To(Succeed())
		Expect(engines[generator.EngineHelm].request.SourceDigest).NotTo(Equal(first.SourceDigest))

		spec.Path = "."
		Expect(generate(spec, references)).To(Succeed())
		Expect(engines[generator.EngineGoTemplate].calls).To(Equal(1), "another folder of the same archive")
	})

	It("joins the parts of an archive in the order of their names", func() {
		archive := pack(chart)
		spec := v1alpha1.ComponentSpec{Source: fromConfigMaps(archive, "z", "a", "b"), Path: "shop"}
		Expect(generate(spec, generator.References{
			configMap("z"): data("source.tgz", archive[:5]), configMap("a"): data("source.tgz", archive[5:9]),
			configMap("b"): data("source.tgz", archive[9:]),
		})).To(Succeed())
		Expect(engines[generator.EngineHelm].request.SourceDigest).
			To(Equal(must(source.Digest(must(fs.Sub(chart, "shop"))))))
	})

	DescribeTable("renders nothing of an archive whose parts do not fit together",
		func(contents func(archive string) generator.References, want string) {
			archive := pack(chart)
			err := generate(v1alpha1.ComponentSpec{Source: fromConfigMaps(archive, "one", "two")}, contents(archive))
			Expect(err).To(MatchError(ContainSubstring(want)))
			Expect(calls()).To(BeEmpty())
		},
		Entry("one is missing", func(archive string) generator.References {
			return generator.References{configMap("one"): data("a.tgz", archive)}
		}, "spec.source.configMaps: ConfigMap apps/two: not found"),
		Entry("one has several keys", func(archive string) generator.References {
			return generator.References{configMap("one"): data("a", archive, "b", ""), configMap("two"): data("a", "")}
		}, "spec.source.configMaps: ConfigMap apps/one: it has 2 keys; want a single key, with a part of the archive"),
		Entry("they are in another order", func(archive string) generator.References {
			return generator.References{configMap("one"): data("a", archive[5:]), configMap("two"): data("a", archive[:5])}
		}, "spec.source.configMaps: the joined parts have the SHA-256 "),
		Entry("one has the content of another archive", func(archive string) generator.References {
			other := pack(fstest.MapFS{"Chart.yaml": {Data: []byte("name: other")}})
			return generator.References{configMap("one"): data("a", archive[:5]), configMap("two"): data("a", other[5:])}
		}, "a part was replaced, is missing, or is at another place in the list: apply the source again"),
	)

	It("says which archive cannot be unpacked, although its parts are complete", func() {
		err := generate(v1alpha1.ComponentSpec{Source: fromConfigMaps("kind: Pod", "one")},
			generator.References{configMap("one"): data("a", "kind: Pod")})
		Expect(err).To(MatchError("spec.source.configMaps: not a .tgz archive: unexpected EOF"))
	})

	It("does not cache large archives", func() {
		spec := v1alpha1.ComponentSpec{Source: fromConfigMap()}
		large := fstest.MapFS{"a": {Data: make([]byte, cachedFolderBytes+1)}}
		references := generator.References{configMap("src"): data("a.tgz", pack(large))}
		Expect(generate(spec, references)).To(Succeed())
		components, ok := subject.(*componentGenerator)
		Expect(ok).To(BeTrue())
		Expect(components.archives.unpacked.Len()).To(BeZero())
	})

	DescribeTable("reports an invalid source with object, key and file:",
		func(spec v1alpha1.ComponentSpec, contents map[string][]byte, want string) {
			references := generator.References{}
			if contents != nil {
				references[configMap("src")] = contents
			}
			Expect(generate(spec, references)).To(MatchError(want))
			Expect(calls()).To(BeEmpty())
		},
		Entry("no ConfigMap", v1alpha1.ComponentSpec{Source: fromConfigMap()}, nil,
			`spec.source.configMap: ConfigMap apps/src: not found`),
		Entry("an empty ConfigMap", v1alpha1.ComponentSpec{Source: fromConfigMap()}, data(),
			`spec.source.configMap: ConfigMap apps/src: no files; want a file for each key, or a single key that ends in .tgz`),
		Entry("an archive next to files", v1alpha1.ComponentSpec{Source: fromConfigMap()},
			data("b.tgz", "", "a.yaml", "", "c.yaml", ""),
			`spec.source.configMap: ConfigMap apps/src: key "b.tgz": an archive must be the only key; the keys are a.yaml, b.tgz, c.yaml`),
		Entry("two archives", v1alpha1.ComponentSpec{Source: fromConfigMap()}, data("b.tgz", "", "a.tgz", ""),
			`spec.source.configMap: ConfigMap apps/src: key "a.tgz": an archive must be the only key; the keys are a.tgz, b.tgz`),
		Entry("an archive with another suffix", v1alpha1.ComponentSpec{Source: fromConfigMap()}, data("a.tar.gz", ""),
			`spec.source.configMap: ConfigMap apps/src: key "a.tar.gz": an archive must have a key that ends in .tgz`),
		Entry("a file that is not an archive", v1alpha1.ComponentSpec{Source: fromConfigMap()}, data("a.tgz", "kind: Pod"),
			`spec.source.configMap: ConfigMap apps/src, key "a.tgz": not a .tgz archive: unexpected EOF`),
		Entry("an archive with a path outside of it", v1alpha1.ComponentSpec{Source: fromConfigMap()},
			data("a.tgz", hostile(tar.Header{Name: "../../etc/passwd"})),
			`spec.source.configMap: ConfigMap apps/src, key "a.tgz": entry "../../etc/passwd": the path holds "..", which could leave the source`),
		Entry("an archive with a link", v1alpha1.ComponentSpec{Source: fromConfigMap()},
			data("a.tgz", hostile(tar.Header{Typeflag: tar.TypeSymlink, Name: "a", Linkname: "/etc/passwd"})),
			`spec.source.configMap: ConfigMap apps/src, key "a.tgz": entry "a": it is a link to "/etc/passwd"; links are refused, put the file itself into the archive`),
		Entry("a bomb", v1alpha1.ComponentSpec{Source: fromConfigMap()},
			data("a.tgz", hostile(tar.Header{Name: "a", Size: 1 << 30})),
			`spec.source.configMap: ConfigMap apps/src, key "a.tgz": entry "a": it holds 1073741824 bytes, more than the limit of 8388608 for a file`),
		Entry("a missing folder of an archive", v1alpha1.ComponentSpec{Source: fromConfigMap(), Path: "charts"},
			data("a.tgz", pack(chart)),
			`spec.source.configMap: ConfigMap apps/src, key "a.tgz": spec.path: folder "charts": not found in the source; the source holds base/, shop/`),
		Entry("a folder in a flat ConfigMap", v1alpha1.ComponentSpec{Source: fromConfigMap(), Path: "x"}, data("a.yaml", ""),
			`spec.path: folder "x": not found in the source; the source holds a.yaml`),
		Entry("a bad name among inline files", v1alpha1.ComponentSpec{Source: inline(map[string]string{"../a": ""})}, nil,
			`spec.source.inline: entry "../a": the path holds "..", which could leave the source`),
		Entry("a path outside of the source",
			v1alpha1.ComponentSpec{Source: inline(map[string]string{"a": ""}), Path: "../x"}, nil,
			`spec.path: folder "../x": want a relative path inside the source, without ".."`),
		Entry("no source", v1alpha1.ComponentSpec{}, nil,
			`spec.source: none of inline, configMap, configMaps and http is set`),
		Entry("an engine that does not exist", v1alpha1.ComponentSpec{
			Source:    inline(map[string]string{"a": ""}),
			Generator: "Jsonnet",
		}, nil,
			`spec.generator: this operator has no engine "Jsonnet"`),
	)

	It("refuses other types than Component", func() {
		_, err := subject.Generate(context.Background(), generator.Request{Component: &corev1.Pod{}})
		Expect(err).To(MatchError("*v1.Pod is not a Component"))
	})

	It("redacts texts of Secrets in the errors of engines, and keeps the type of the errors", func() {
		cause := errors.New(`templates/web.yaml:3: user admin, password "s3cr3t/pa55", key BEGIN\nc0ffee\n, port 80`)
		engines[generator.EngineGoTemplate].err = cause
		spec := v1alpha1.ComponentSpec{Source: inline(map[string]string{"a": ""}), ValuesFrom: []metav1alpha1.ValuesReference{
			{Kind: metav1alpha1.ConfigMapReference, Name: "plain"}, {Kind: metav1alpha1.SecretReference, Name: "db"},
		}}
		err := generate(spec, generator.References{
			configMap("plain"): data("values.yaml", "user: admin"),
			secret("db"): data("values.yaml",
				"db: {password: s3cr3t/pa55, port: '80'}\nkeys:\n- |\n  c0ffee\n  00\n- s3cr3t\n"),
		})
		Expect(err).
			To(MatchError(`templates/web.yaml:3: user admin, password "(redacted)", key BEGIN\n(redacted)\n, port 80`))
		Expect(err).To(MatchError(cause))
	})

	It("returns other errors of engines unchanged", func() {
		engines[generator.EngineGoTemplate].err = fs.ErrInvalid
		err := generate(v1alpha1.ComponentSpec{Source: inline(map[string]string{"a": ""})}, nil)
		Expect(err).To(BeIdenticalTo(fs.ErrInvalid))
	})
})

func must[T any](value T, err error) T {
	GinkgoHelper()
	Expect(err).NotTo(HaveOccurred())
	return value
}
