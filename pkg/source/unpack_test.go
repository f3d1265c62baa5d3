package source_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/fairlead-io/fairlead/internal/fuzzing"
	"github.com/fairlead-io/fairlead/pkg/source"
)

// entry is an entry of an archive that a test writes.
type entry struct {
	tar.Header
	content string
}

func file(name, content string) entry {
	return entry{
		Header:  tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o600, Size: int64(len(content))},
		content: content,
	}
}

func folder(name string) entry {
	return entry{Header: tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: 0o700}}
}

func special(kind byte, name, target string) entry {
	return entry{Header: tar.Header{Typeflag: kind, Name: name, Linkname: target}}
}

func tarball(entries ...entry) []byte {
	var out bytes.Buffer
	archive := tar.NewWriter(&out)
	for _, e := range entries {
		Expect(archive.WriteHeader(&e.Header)).To(Succeed())
		_, err := archive.Write([]byte(e.content))
		Expect(err).NotTo(HaveOccurred())
	}
	Expect(archive.Close()).To(Succeed())
	return zip(out.Bytes())
}

func zip(content []byte) []byte {
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	_, err := zipped.Write(content)
	Expect(err).NotTo(HaveOccurred())
	Expect(zipped.Close()).To(Succeed())
	return out.Bytes()
}

var _ = Describe("Unpack:", func() {
	It("Unpack returns the files and folders of an archive, and keeps a single top-level folder", func() {
		global := entry{
			Header: tar.Header{
				Typeflag:   tar.TypeXGlobalHeader,
				Name:       "pax_global_header",
				PAXRecords: map[string]string{"comment": "abc"},
			},
		}
		got, err := source.Unpack(tarball(
			global,
			folder("./"),
			folder("shop/"),
			file("shop/Chart.yaml", "name: shop"),
			file("./shop/templates/web.yaml", "kind: Pod"),
			folder("shop/templates/"),
			folder("shop/charts"),
		), source.Limits{})
		Expect(err).NotTo(HaveOccurred())
		Expect(fstest.TestFS(got, "shop/Chart.yaml", "shop/templates/web.yaml", "shop/charts")).To(Succeed())
		Expect(fs.ReadFile(got, "shop/Chart.yaml")).To(BeEquivalentTo("name: shop"))
		info, err := fs.Stat(got, "shop/Chart.yaml")
		Expect(err).NotTo(HaveOccurred())
		Expect(info.Mode()).To(Equal(fs.FileMode(0o644)), "the modes in the archive must be ignored")
	})

	It("Unpack returns a file system that cannot be changed", func() {
		got, err := source.Unpack(tarball(file("a", "one")), source.Limits{})
		Expect(err).NotTo(HaveOccurred())
		content, err := fs.ReadFile(got, "a")
		Expect(err).NotTo(HaveOccurred())
		content[0] = 'X'
		Expect(fs.ReadFile(got, "a")).To(BeEquivalentTo("one"))
	})

	small := source.Limits{Entries: 3, FileBytes: 10, TotalBytes: 15}
	long := strings.Repeat("a", 300)

	DescribeTable(
		"Unpack refuses an unsafe entry, and names the entry:",
		func(want string, entries ...entry) {
			_, err := source.Unpack(tarball(entries...), small)
			Expect(err).To(MatchError(ContainSubstring(want)))
		},
		Entry("a path that leaves the archive by ..", `entry "../etc/passwd": the path holds ".."`,
			file("../etc/passwd", "x")),
		Entry("a path that leaves the archive by .. in the middle", `entry "a/../../b": the path holds ".."`,
			file("a/../../b", "x")),
		Entry("a folder above the archive", `entry "..": the path holds ".."`, folder("../")),
		Entry("a path that leaves the archive by ./..", `entry "../b": the path holds ".."`, file("./../b", "x")),
		Entry("an absolute path", `entry "/etc/passwd": the path is absolute`, file("/etc/passwd", "x")),
		Entry("an absolute path after ./", `entry "/etc": the path is absolute`, file(".//etc", "x")),
		Entry("a backslash", `entry "a\\b": the name holds a backslash`, file(`a\b`, "x")),
		Entry("a line break", `entry "a\nb": the name holds a backslash or a control character`, file("a\nb", "x")),
		Entry("a path that is not clean", `entry "a//b": the path is not clean`, file("a//b", "x")),
		Entry("a file with the name of the root folder", `entry ".": the path is not clean`, file("./.", "x")),
		Entry(
			"a name beyond the limit, cut in the message",
			`aaa"…: the name is longer than the limit of 512 bytes`,
			file(long+"/"+long, ""),
		),
		Entry(
			"a symbolic link",
			`entry "a": it is a link to "/etc/passwd"; links are refused`,
			special(tar.TypeSymlink, "a", "/etc/passwd"),
		),
		Entry(
			"a symbolic link to a file of the archive",
			`entry "a": it is a link to "b"`,
			file("b", ""),
			special(tar.TypeSymlink, "a", "b"),
		),
		Entry("a hard link", `entry "a": it is a link to "b"`, file("b", ""), special(tar.TypeLink, "a", "b")),
		Entry(
			"a device",
			`entry "null": it is neither a file nor a folder (tar type '3')`,
			special(tar.TypeChar, "null", ""),
		),
		Entry(
			"a pipe",
			`entry "pipe": it is neither a file nor a folder (tar type '6')`,
			special(tar.TypeFifo, "pipe", ""),
		),
		Entry("a name that occurs twice", `entry "a": the name occurs twice`, file("a", "x"), file("./a", "y")),
		Entry(
			"a file below another file",
			`entry "a/b": "a" is a file and a folder at the same time`,
			file("a", "x"),
			file("a/b", "y"),
		),
		Entry(
			"a folder with the name of a file",
			`entry "a": it is a file and a folder at the same time`,
			file("a", "x"),
			folder("a/"),
		),
		Entry("a file in place of a folder", `entry "a": the name occurs twice`, file("a/b", "x"), file("a", "")),
		Entry(
			"a file that is too large",
			`entry "big": it holds 11 bytes, more than the limit of 10 for a file`,
			file("big", "0123456789A"),
		),
		Entry(
			"files that are too large in sum",
			`entry "b": with it, the files hold more than the limit of 15 bytes`,
			file("a", "0123456789"),
			file("b", "012345"),
		),
		Entry(
			"too many files",
			`entry "d": it exceeds the limit of 3 files and folders`,
			file("a", ""),
			file("b", ""),
			file("c", ""),
			file("d", ""),
		),
		Entry(
			"too many folders, implied by one path",
			`entry "a/b/c/d": it exceeds the limit of 3 files and folders`,
			file("a/b/c/d", ""),
		),
	)

	It("Unpack refuses a large compressed file without decompressing all of it", func() {
		bomb := tarball(file("zeros", strings.Repeat("\x00", source.DefaultMaxFileBytes+1)))
		Expect(len(bomb)).To(BeNumerically("<", 20<<10))
		_, err := source.Unpack(bomb, source.Limits{})
		Expect(err).To(MatchError(`entry "zeros": it holds 8388609 bytes, more than the limit of 8388608 for a file`))
	})

	It("Unpack refuses an archive with a large amount of data after the last entry", func() {
		plain := make([]byte, 8<<20) // the end mark of the archive, followed by zeros
		_, err := source.Unpack(zip(plain), source.Limits{Entries: 1, TotalBytes: 1})
		Expect(err).To(MatchError(ContainSubstring("larger than the limits allow")))
	})

	It("the error of Unpack names the entry at which an archive is damaged", func() {
		whole := tarball(file("a.yaml", "one"), file("b.yaml", strings.Repeat("0123456789abcdef", 4096)))
		for size := range len(whole) {
			_, err := source.Unpack(whole[:size], source.Limits{})
			Expect(err).To(HaveOccurred(), "%d of %d bytes", size, len(whole))
		}
		_, err := source.Unpack(whole[:len(whole)-4], source.Limits{})
		Expect(err).To(MatchError(`the archive is broken after entry "b.yaml": it is truncated: unexpected EOF`))

		whole[len(whole)-8] ^= 0xff
		_, err = source.Unpack(whole, source.Limits{})
		Expect(err).To(MatchError(`the archive is broken after entry "b.yaml": gzip: invalid checksum`))
	})

	DescribeTable(
		"Unpack refuses data that is not an archive:",
		func(content []byte, want string) {
			_, err := source.Unpack(content, source.Limits{})
			Expect(err).To(MatchError(ContainSubstring(want)))
		},
		Entry("empty data", nil, "not a .tgz archive: EOF"),
		Entry("text", []byte("kind: Pod\nmetadata: {}\n"), "not a .tgz archive: gzip: invalid header"),
		Entry(
			"a compressed text",
			zip(bytes.Repeat([]byte("kind: Pod\n"), 100)),
			"not a .tgz archive: archive/tar: invalid tar header",
		),
	)
})

func FuzzUnpack(f *testing.F) {
	RegisterTestingT(f)
	f.Add(tarball(file("a/b.yaml", "kind: Pod"), folder("c")))
	f.Add(tarball(special(tar.TypeSymlink, "a", "../b")))
	f.Add([]byte("\x1f\x8b"))
	limits := source.Limits{Entries: 50, FileBytes: 1 << 10, TotalBytes: 4 << 10}
	fuzzing.Run(f, func(t *testing.T, archive []byte) {
		RegisterTestingT(t)
		got, err := source.Unpack(archive, limits)
		if err != nil {
			return
		}
		total := 0
		Expect(fs.WalkDir(got, ".", func(name string, entry fs.DirEntry, err error) error {
			Expect(err).NotTo(HaveOccurred())
			Expect(fs.ValidPath(name)).To(BeTrue(), name)
			if !entry.IsDir() {
				content, err := fs.ReadFile(got, name)
				Expect(err).NotTo(HaveOccurred())
				total += len(content)
			}
			return nil
		})).To(Succeed())
		Expect(total).To(BeNumerically("<=", limits.TotalBytes))
	})
}
