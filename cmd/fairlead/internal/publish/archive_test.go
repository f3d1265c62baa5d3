package publish_test

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/publish"
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

	DescribeTable("refuses as bad input, with a reason,", func(prepare func(dir string) string, want ...string) {
		_, err := publish.Pack(prepare(GinkgoT().TempDir()))
		Expect(exit.CodeOf(err)).To(Equal(exit.Misuse))
		for _, text := range want {
			Expect(err).To(MatchError(ContainSubstring(text)))
		}
	},
		Entry("a missing folder", func(dir string) string { return filepath.Join(dir, "none") }, "none", "does not exist"),
		Entry("a file", func(dir string) string {
			write(dir, "Chart.yaml", nil)
			return filepath.Join(dir, "Chart.yaml")
		}, "Chart.yaml", "is a file"),
		Entry("an empty folder", func(dir string) string { return dir }, "is empty"),
		Entry("a folder without files", func(dir string) string {
			Expect(os.Mkdir(filepath.Join(dir, "templates"), 0o700)).To(Succeed())
			return dir
		}, "is empty"),
		Entry("a symbolic link", func(dir string) string {
			Expect(os.Symlink("/etc/passwd", filepath.Join(dir, "values.yaml"))).To(Succeed())
			return dir
		}, "values.yaml", "symbolic link"),
		Entry("a folder that is too large for a ConfigMap, with the largest files", func(dir string) string {
			noise := make([]byte, 900<<10)
			_, _ = rand.Read(noise)
			write(dir, "Chart.yaml", []byte("name: shop"))
			write(dir, "charts/big.tgz", noise)
			return dir
		}, "the limit of a ConfigMap is 768000 bytes", "remove files", "charts/big.tgz (921600 bytes)"),
	)
})
