package operator

import (
	"errors"
	"io/fs"
	"testing/fstest"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

var _ = Describe("The folder that is rendered", func() {
	files := func(names ...string) fstest.MapFS {
		tree := fstest.MapFS{}
		for _, name := range names {
			tree[name] = &fstest.MapFile{}
		}
		return tree
	}

	DescribeTable("is",
		func(tree fstest.MapFS, path, want string, top ...string) {
			found, err := folderOf(tree, path)
			Expect(err).NotTo(HaveOccurred())
			Expect(found.path).To(Equal(want))
			entries, err := fs.ReadDir(found.files, ".")
			Expect(err).NotTo(HaveOccurred())
			var names []string
			for _, entry := range entries {
				names = append(names, entry.Name())
			}
			Expect(names).To(Equal(top))
		},
		Entry("the root of a chart", files("Chart.yaml", "templates/a.yaml"), "", "", "Chart.yaml", "templates"),
		Entry("the chart in the only folder, as helm package packs it", files("shop/Chart.yaml", "shop/templates/a.yaml"),
			"", "shop", "Chart.yaml", "templates"),
		Entry("the kustomization in the only folder", files("prod/kustomization.yaml"), "", "prod", "kustomization.yaml"),
		Entry("the root with the path .", files("shop/Chart.yaml"), ".", ".", "shop"),
		Entry("the root of templates, which may refer to files by paths from the root", files("web/a.yaml"), "", "", "web"),
		Entry("the root with a folder and a file", files("shop/Chart.yaml", "README.md"), "", "", "README.md", "shop"),
		Entry("the root with two charts", files("a/Chart.yaml", "b/Chart.yaml"), "", "", "a", "b"),
		Entry("the root with a chart in a nested folder", files("charts/shop/Chart.yaml"), "", "", "charts"),
		Entry("the folder in spec.path",
			files("shop/Chart.yaml", "shop/charts/db/Chart.yaml"), "shop/charts/db", "shop/charts/db",
			"Chart.yaml"),
	)

	DescribeTable("is proposed in the error of templates without spec.path,",
		func(spec v1alpha1.ComponentSpec, tree fstest.MapFS, want string) {
			engine := &recorder{err: errors.New("a.yaml:1: no")}
			subject := newGenerator(map[generator.Engine]generator.Generator{
				generator.EngineGoTemplate: engine,
				generator.EngineHelm:       engine,
			}, nil)
			_, err := subject.Generate(GinkgoT().Context(), generator.Request{Component: newComponent(spec), Source: tree})
			Expect(err).To(MatchError(want))
			Expect(err).To(MatchError(engine.err))
		},
		Entry("with the folders that contain a chart or a kustomization", v1alpha1.ComponentSpec{},
			files("README.md", "a/Chart.yaml", "b/kustomization.yaml", "c/x.yaml"),
			"the root of the source contains no chart and no kustomization, but these folders do: a, b; set the path to one of "+
				"these, such as a; all files were rendered as templates: a.yaml:1: no"),
		Entry("with some of the nested folders", v1alpha1.ComponentSpec{},
			files("README.md", "apps/a/Chart.yaml", "apps/a/charts/x/Chart.yaml", "apps/b/Chart.yaml", "apps/c/Chart.yaml",
				"apps/d/Chart.yaml"),
			"the root of the source contains no chart and no kustomization, but these folders do: apps/a, apps/b, apps/c and 1 "+
				"more; set the path to one of these, such as apps/a; "+
				"all files were rendered as templates: a.yaml:1: no"),
		Entry("but not if the generator is GoTemplate", v1alpha1.ComponentSpec{Generator: "GoTemplate"},
			files("README.md", "a/Chart.yaml"), "a.yaml:1: no"),
		Entry("but not if there are only templates", v1alpha1.ComponentSpec{}, files("a/x.yaml"), "a.yaml:1: no"),
		Entry("but not for a chart with sub-charts", v1alpha1.ComponentSpec{}, files("Chart.yaml", "db/Chart.yaml"),
			"a.yaml:1: no"),
	)
})
