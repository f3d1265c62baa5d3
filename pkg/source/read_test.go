package source_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing/fstest"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/fairlead-io/fairlead/pkg/source"
)

var _ = Describe("Read:", func() {
	// rooted returns a temporary folder that is read through an os.Root.
	rooted := func(prepare func(dir string)) fs.FS {
		GinkgoHelper()
		dir := GinkgoT().TempDir()
		prepare(dir)
		root, err := os.OpenRoot(dir)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(root.Close)
		return root.FS()
	}
	write := func(dir, name, text string) {
		GinkgoHelper()
		Expect(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700)).To(Succeed())
		Expect(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)).To(Succeed())
	}

	It("Read copies the content, so that later changes of the folder have no effect", func() {
		var place string
		folder := rooted(func(dir string) {
			place = dir
			write(dir, "templates/web.yaml", "kind: Pod")
		})
		got, err := source.Read(folder, source.Limits{})
		Expect(err).NotTo(HaveOccurred())
		Expect(os.RemoveAll(filepath.Join(place, "templates"))).To(Succeed())
		Expect(fstest.TestFS(got, "templates/web.yaml")).To(Succeed())
		Expect(fs.ReadFile(got, "templates/web.yaml")).To(BeEquivalentTo("kind: Pod"))
	})

	It("Read omits folders named .git", func() {
		got, err := source.Read(
			fstest.MapFS{".git/config": {}, "sub/.git": {Data: []byte("gitdir: ..")}, "a.yaml": {}},
			source.Limits{},
		)
		Expect(err).NotTo(HaveOccurred())
		Expect(digest(got)).To(Equal(digest(fstest.MapFS{"a.yaml": {}, "sub": {Mode: fs.ModeDir}})))
	})

	It("Read replaces a link by its target", func() {
		got, err := source.Read(rooted(func(dir string) {
			write(dir, "real/a.yaml", "a")
			Expect(os.Symlink("real", filepath.Join(dir, "folder"))).To(Succeed())
			Expect(os.Symlink("real/a.yaml", filepath.Join(dir, "file.yaml"))).To(Succeed())
		}), source.Limits{})
		Expect(err).NotTo(HaveOccurred())
		Expect(digest(got)).To(Equal(digest(fstest.MapFS{
			"real/a.yaml": {Data: []byte("a")}, "folder/a.yaml": {Data: []byte("a")}, "file.yaml": {Data: []byte("a")},
		})))
	})

	DescribeTable(
		"Read refuses",
		func(want string, prepare func(dir string)) {
			_, err := source.Read(rooted(prepare), source.Limits{FileBytes: 10})
			Expect(err).To(MatchError(HavePrefix(want)))
		},
		Entry("a link out of the folder", `entry "out": `, func(dir string) {
			Expect(os.Symlink("/etc", filepath.Join(dir, "out"))).To(Succeed())
		}),
		Entry("a link that leads nowhere", `entry "lost": `, func(dir string) {
			Expect(os.Symlink("missing", filepath.Join(dir, "lost"))).To(Succeed())
		}),
		Entry("a link in a circle", `entry "a/a/a/a/`, func(dir string) {
			Expect(os.Symlink(".", filepath.Join(dir, "a"))).To(Succeed())
		}),
		Entry("a large file", `entry "big": it holds 11 bytes`, func(dir string) { write(dir, "big", "12345678901") }),
		Entry(
			"a name that is not valid on every operating system",
			`entry "a\\b": the name holds a backslash`,
			func(dir string) { write(dir, `a\b`, "") },
		),
	)
})
