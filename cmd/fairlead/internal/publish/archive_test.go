package publish_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing/fstest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/publish"
	"github.com/fairlead-io/fairlead/pkg/source"
)

// write makes a file in a folder, and the folders above it.
func write(dir, name string, content []byte) {
	GinkgoHelper()
	path := filepath.Join(dir, name)
	Expect(os.MkdirAll(filepath.Dir(path), 0o700)).To(Succeed())
	Expect(os.WriteFile(path, content, 0o600)).To(Succeed())
}

var _ = Describe("Pack", func() {
	It("identifies a folder by its content alone", func() {
		one, other := GinkgoT().TempDir(), GinkgoT().TempDir()
		for _, dir := range []string{one, other} {
			write(dir, "Chart.yaml", []byte("name: shop"))
			write(dir, "templates/web.yaml", []byte("kind: Pod"))
		}
		write(other, ".git/HEAD", []byte("ref"))
		Expect(os.Chtimes(filepath.Join(other, "Chart.yaml"), time.Time{}, time.Unix(1, 0))).To(Succeed())
		first, err := publish.Pack(one)
		Expect(err).NotTo(HaveOccurred())
		Expect(publish.Pack(other)).To(Equal(first))

		write(other, "Chart.yaml", []byte("name: store"))
		changed, err := publish.Pack(other)
		Expect(err).NotTo(HaveOccurred())
		Expect(changed.Digest).NotTo(Equal(first.Digest))
	})

	It("gives the same for an archive as for a folder with its files, however the archive was packed", func() {
		dir := GinkgoT().TempDir()
		write(dir, "shop/Chart.yaml", []byte("name: shop"))
		write(dir, "shop/templates/web.yaml", []byte("kind: Pod"))
		write(dir, "shop/.git/HEAD", []byte("ref"))
		var packed bytes.Buffer
		zipped, err := gzip.NewWriterLevel(&packed, gzip.NoCompression)
		Expect(err).NotTo(HaveOccurred())
		archive := tar.NewWriter(zipped)
		for _, name := range []string{"templates/web.yaml", "Chart.yaml", ".git/HEAD"} {
			content, err := os.ReadFile(filepath.Join(dir, "shop", name))
			Expect(err).NotTo(HaveOccurred())
			Expect(archive.WriteHeader(&tar.Header{
				Typeflag: tar.TypeReg, Name: "./" + name, Size: int64(len(content)), Mode: 0o600, ModTime: time.Unix(1, 0),
			})).To(Succeed())
			_, err = archive.Write(content)
			Expect(err).NotTo(HaveOccurred())
		}
		Expect(archive.Close()).To(Succeed())
		Expect(zipped.Close()).To(Succeed())
		write(dir, "shop.tgz", packed.Bytes())

		want, err := publish.Pack(filepath.Join(dir, "shop"))
		Expect(err).NotTo(HaveOccurred())
		Expect(publish.Pack(filepath.Join(dir, "shop.tgz"))).To(Equal(want))
	})

	DescribeTable("identifies a chart without the files that .helmignore leaves out",
		func(file string, same bool) {
			dir := GinkgoT().TempDir()
			write(dir, "Chart.yaml", []byte("{apiVersion: v2, name: shop, version: 1.0.0}"))
			write(dir, "templates/web.yaml", []byte("kind: Pod"))
			write(dir, ".helmignore", []byte("ci/\n*.md\n"))
			first, err := publish.Pack(dir)
			Expect(err).NotTo(HaveOccurred())
			write(dir, file, []byte("changed"))
			changed, err := publish.Pack(dir)
			Expect(err).NotTo(HaveOccurred())
			if same {
				Expect(changed.Chart).To(Equal(first.Chart))
			} else {
				Expect(changed.Chart).NotTo(Equal(first.Chart))
			}
		},
		Entry("a file", "README.md", true),
		Entry("a file in a folder", "docs/more.md", true),
		Entry("a folder", "ci/values.yaml", true),
		Entry("a hidden template", "templates/.hidden.yaml", true),
		Entry("a file that it does not name", "notes.txt", false),
		Entry("a template", "templates/ci.yaml", false),
		Entry("the rules", ".helmignore", false),
		Entry("a file of another generator", "kustomization.yaml", false),
	)

	It("replaces symbolic links inside the folder by the files and folders that they point to", func() {
		dir := GinkgoT().TempDir()
		write(dir, "linked/crds/bases/a.yaml", []byte("kind: A"))
		write(dir, "linked/LICENSE", []byte("free"))
		Expect(os.Symlink("bases", filepath.Join(dir, "linked/crds/v1"))).To(Succeed())
		Expect(os.Symlink("../LICENSE", filepath.Join(dir, "linked/crds/LICENSE"))).To(Succeed())
		write(dir, "plain/crds/bases/a.yaml", []byte("kind: A"))
		write(dir, "plain/crds/v1/a.yaml", []byte("kind: A"))
		write(dir, "plain/crds/LICENSE", []byte("free"))
		write(dir, "plain/LICENSE", []byte("free"))
		want, err := publish.Pack(filepath.Join(dir, "plain"))
		Expect(err).NotTo(HaveOccurred())
		Expect(publish.Pack(filepath.Join(dir, "linked"))).To(Equal(want))
	})

	DescribeTable("refuses as bad input, with a reason,", func(prepare func(dir string) string, want ...string) {
		_, err := publish.Pack(prepare(GinkgoT().TempDir()))
		Expect(exit.CodeOf(err)).To(Equal(exit.Misuse))
		for _, text := range want {
			Expect(err).To(MatchError(ContainSubstring(text)))
		}
	},
		Entry("a missing folder", func(dir string) string {
			return filepath.Join(dir,
				"none")
		}, "none", "does not exist; name a folder or a .tgz archive"),
		Entry("a file", func(dir string) string {
			write(dir, "Chart.yaml", nil)
			return filepath.Join(dir, "Chart.yaml")
		}, "Chart.yaml", "not a .tgz archive"),
		Entry("an archive without files", func(dir string) string {
			data, err := source.Pack(fstest.MapFS{"templates": {Mode: fs.ModeDir}})
			Expect(err).NotTo(HaveOccurred())
			write(dir, "shop.tgz", data)
			return filepath.Join(dir, "shop.tgz")
		}, "archive", "shop.tgz", "is empty"),
		Entry("an empty folder", func(dir string) string { return dir }, "is empty"),
		Entry("a folder without files", func(dir string) string {
			Expect(os.Mkdir(filepath.Join(dir, "templates"), 0o700)).To(Succeed())
			return dir
		}, "is empty"),
		Entry("a symbolic link that leads out of the folder", func(dir string) string {
			Expect(os.Symlink("/etc/passwd", filepath.Join(dir, "values.yaml"))).To(Succeed())
			return dir
		}, "values.yaml", "symbolic link that cannot be followed", "replace it"),
		Entry("a symbolic link to nothing", func(dir string) string {
			Expect(os.Symlink("none", filepath.Join(dir, "values.yaml"))).To(Succeed())
			return dir
		}, "values.yaml", "symbolic link that cannot be followed"),
		Entry("what is too large, with size, limit, and what to remove files", func(dir string) string {
			write(dir, "Chart.yaml", []byte("name: shop"))
			for i, size := range []int{6 << 20, 7 << 20, 5 << 20} {
				noise := make([]byte, size)
				_, _ = rand.Read(noise)
				write(dir, fmt.Sprintf("charts/%d.tgz", i), noise)
			}
			return dir
		}, "the limit is 16777216 bytes", "remove files", "charts/1.tgz (7340032 bytes), charts/0.tgz"),
	)
})
