package source_test

import (
	"io/fs"
	"testing/fstest"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/fairlead-io/fairlead/pkg/source"
)

var _ = Describe("FromFiles:", func() {
	It("FromFiles creates the folders that the paths imply", func() {
		got, err := source.FromFiles(map[string][]byte{"Chart.yaml": []byte("name: shop"), "templates/a/web.yaml": nil})
		Expect(err).NotTo(HaveOccurred())
		Expect(fstest.TestFS(got, "Chart.yaml", "templates/a/web.yaml")).To(Succeed())
		Expect(
			digest(got),
		).To(Equal(digest(fstest.MapFS{"Chart.yaml": {Data: []byte("name: shop")}, "templates/a/web.yaml": {}})))
	})

	DescribeTable(
		"FromFiles refuses",
		func(want string, names ...string) {
			files := map[string][]byte{}
			for _, name := range names {
				files[name] = nil
			}
			_, err := source.FromFiles(files)
			Expect(err).To(MatchError(ContainSubstring(want)))
		},
		Entry("a path that leaves the source", `entry "../a": the path holds ".."`, "../a"),
		Entry("an absolute path", `entry "/a": the path is absolute; use a relative one`, "/a"),
		Entry(
			"a path that is not clean",
			`entry "./a": the path is not clean; want one such as templates/web.yaml`,
			"./a",
		),
		Entry("an empty path", `entry "": the name is empty`, ""),
		Entry("a path that is both a file and a folder", `entry "a/b": "a" is a file and a folder`, "a/b", "a"),
	)

	It("FromFiles refuses files above the default limits", func() {
		_, err := source.FromFiles(map[string][]byte{"big": make([]byte, source.DefaultMaxFileBytes+1)})
		Expect(err).To(MatchError(ContainSubstring(`entry "big": it holds 8388609 bytes`)))
	})
})

var _ = Describe("Sub:", func() {
	shop := fstest.MapFS{
		"shop/Chart.yaml":         {},
		"shop/templates/web.yaml": {},
		"README.md":               {},
	}

	DescribeTable("Sub finds a folder by",
		func(dir, file string) {
			got, err := source.Sub(shop, dir)
			Expect(err).NotTo(HaveOccurred())
			_, err = fs.Stat(got, file)
			Expect(err).NotTo(HaveOccurred())
		},
		Entry("an empty path", "", "README.md"),
		Entry("the root", ".", "README.md"),
		Entry("a folder", "shop", "Chart.yaml"),
		Entry("a path with ./ and a trailing slash", "./shop/templates/", "web.yaml"),
	)

	DescribeTable(
		"the error of Sub names the path and the mistake:",
		func(fsys fs.FS, dir, want string) {
			_, err := source.Sub(fsys, dir)
			Expect(err).To(MatchError(want))
		},
		Entry(
			"a missing folder",
			shop,
			"chart",
			`folder "chart": not found in the source; the source holds README.md, shop/`,
		),
		Entry(
			"a missing folder inside a folder",
			shop,
			"shop/x/y",
			`folder "shop/x/y": not found in the source; folder "shop" holds Chart.yaml, templates/`,
		),
		Entry(
			"a folder below a file",
			shop,
			"README.md/x",
			`folder "README.md/x": not found in the source; the source holds README.md, shop/`,
		),
		Entry("an empty source", fstest.MapFS{}, "a", `folder "a": not found in the source; the source holds nothing`),
		Entry("a file", shop, "shop/Chart.yaml", `folder "shop/Chart.yaml": it is a file in the source; want a folder`),
		Entry(
			"an absolute path",
			shop,
			"/shop",
			`folder "/shop": want a relative path inside the source, without ".."`,
		),
		Entry(
			"a path with ..",
			shop,
			"shop/../..",
			`folder "shop/../..": want a relative path inside the source, without ".."`,
		),
	)

	It("the error of Sub lists at most ten entries", func() {
		many := fstest.MapFS{}
		for _, name := range "abcdefghijkl" {
			many[string(name)] = &fstest.MapFile{}
		}
		_, err := source.Sub(many, "z")
		Expect(err).To(MatchError(HaveSuffix("holds a, b, c, d, e, f, g, h, i, j and 2 more")))
	})
})
