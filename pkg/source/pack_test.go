package source_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing/fstest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/fairlead-io/fairlead/pkg/source"
)

func digest(fsys fs.FS) string {
	GinkgoHelper()
	sum, err := source.Digest(fsys)
	Expect(err).NotTo(HaveOccurred())
	return sum
}

var _ = Describe("Pack:", func() {
	chart := func() fstest.MapFS {
		return fstest.MapFS{
			"Chart.yaml":          {Data: []byte("name: shop")},
			"templates/web.yaml":  {Data: []byte("kind: Pod")},
			"templates.yaml":      {Data: nil},
			"charts":              {Mode: fs.ModeDir | 0o700},
			".git/config":         {Data: []byte("secret")},
			"charts/sub/.git":     {Data: []byte("gitdir: /home/somebody")},
			"charts/sub/.gitkeep": {Data: nil},
		}
	}

	It("Pack returns equal bytes for equal content, with any times and modes", func() {
		first, err := source.Pack(chart())
		Expect(err).NotTo(HaveOccurred())
		touched := chart()
		for _, f := range touched {
			f.ModTime = time.Unix(1_700_000_000, 0)
			f.Mode |= 0o111
		}
		second, err := source.Pack(touched)
		Expect(err).NotTo(HaveOccurred())
		Expect(bytes.Equal(first, second)).To(BeTrue())
	})

	It("Pack omits the folder .git, and packs all other files", func() {
		archive, err := source.Pack(chart())
		Expect(err).NotTo(HaveOccurred())
		got, err := source.Unpack(archive, source.Limits{})
		Expect(err).NotTo(HaveOccurred())
		want := chart()
		delete(want, ".git/config")
		delete(want, "charts/sub/.git")
		Expect(digest(got)).To(Equal(digest(want)))
	})

	DescribeTable("Pack refuses entries that an archive must not contain, and names the entry:",
		func(prepare func(dir string) error, want string) {
			dir := GinkgoT().TempDir()
			Expect(os.Mkdir(filepath.Join(dir, "charts"), 0o700)).To(Succeed())
			Expect(prepare(dir)).To(Succeed())
			_, err := source.Pack(os.DirFS(dir))
			Expect(err).To(MatchError(ContainSubstring(want)))
		},
		Entry("a symbolic link to a file", func(dir string) error {
			return os.Symlink("/etc/passwd", filepath.Join(dir, "charts", "link"))
		}, `entry "charts/link": it is a symbolic link; replace it`),
		Entry("a symbolic link to a folder", func(dir string) error {
			return os.Symlink(".", filepath.Join(dir, "loop"))
		}, `entry "loop": it is a symbolic link`),
		Entry("a pipe", func(dir string) error {
			return syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600)
		}, `entry "pipe": it is neither a file nor a folder`),
		Entry("a name that Unpack would refuse", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, `a\b`), nil, 0o600)
		}, `entry "a\\b": the name holds a backslash`),
		Entry("a file above the limit", func(dir string) error {
			big := filepath.Join(dir, "big")
			if err := os.WriteFile(big, nil, 0o600); err != nil {
				return err
			}
			return os.Truncate(big, 1<<40)
		}, `entry "big": it holds 1099511627776 bytes, more than the limit`),
	)

	It("Pack returns fs.ErrNotExist for a folder that does not exist", func() {
		_, err := source.Pack(os.DirFS(filepath.Join(GinkgoT().TempDir(), "nowhere")))
		Expect(err).To(MatchError(fs.ErrNotExist))
	})
})

var _ = Describe("Digest:", func() {
	It("Digest differs for contents whose names and data concatenate to the same text", func() {
		sums := map[string]string{}
		for name, fsys := range map[string]fstest.MapFS{
			"empty":            {},
			"one file":         {"a": {Data: []byte("bc")}},
			"name longer":      {"ab": {Data: []byte("c")}},
			"two files":        {"a": {Data: []byte("b")}, "c": {}},
			"file in a folder": {"a/b": {Data: []byte("c")}},
			"empty folder":     {"a": {Mode: fs.ModeDir}},
			"empty file":       {"a": {}},
		} {
			sum := digest(fsys)
			Expect(sum).To(MatchRegexp(`^[0-9a-f]{64}$`))
			Expect(sums).NotTo(HaveKey(sum), name)
			sums[sum] = name
		}
	})

	It("Digest is the same in every version of the program, because it is persisted", func() {
		Expect(digest(fstest.MapFS{"a/b": {Data: []byte("c")}})).
			To(Equal("d6ee2ab28bbd1491af8743ec93e57f97c29247c2254426ced4109abddbc2ff78"))
	})
})
