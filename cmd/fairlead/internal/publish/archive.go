package publish

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/download"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/render"
	"github.com/fairlead-io/fairlead/pkg/source"
)

// Archive is a packed source.
type Archive struct {
	Data []byte
	// Digest identifies the files. It does not depend on their order or compression in Data.
	Digest string
	// Chart identifies the chart in the files, as a folder or as helm package packs it. It is empty if there is none.
	Chart string
	// URL is the address that the archive was downloaded from. The operator downloads it from there too. It is empty for a
	// local folder or archive.
	URL string
}

// Files returns the files of the archive.
func (a Archive) Files() (fs.FS, error) { return source.Unpack(a.Data, source.Limits{}) }

// SHA256 returns the digest of the bytes of the archive.
func (a Archive) SHA256() string { return digestOf(a.Data) }

// Load downloads an archive if the place is a URL, and packs a local folder or archive otherwise. If digest is not
// empty, an archive with another digest is refused.
func Load(ctx context.Context, place, digest string) (Archive, error) {
	if !download.IsURL(place) {
		return Pack(place)
	}
	got, err := download.Get(ctx, place, digest)
	if err != nil {
		return Archive{}, err
	}
	archive := Archive{Data: got.Data, URL: place}
	if archive.Digest, archive.Chart, err = identify("archive", download.Name(place), got.Files); err != nil {
		return Archive{}, err
	}
	return archive, nil
}

// Pack packs a local folder, or the content of a local .tgz archive. A folder and an archive with the same files give
// the same result. Its errors are errors of input.
func Pack(place string) (Archive, error) {
	info, err := os.Stat(place)
	if err == nil && info.IsDir() {
		tree, err := readFolder(place)
		if err != nil {
			return Archive{}, exit.BadInput("folder %q: %w", place, err)
		}
		return pack("folder", place, tree)
	}
	// An archive is packed again, so that the result depends on its files only.
	tree, err := render.Open(place)
	if err != nil {
		return Archive{}, exit.BadInput("%w", err)
	}
	return pack("archive", place, tree)
}

// readFolder reads a folder. Symbolic links are followed inside the folder. A link that leads out of the folder is an
// error, because a chart of somebody else could publish any file that the person may read.
func readFolder(place string) (fs.FS, error) {
	root, err := os.OpenRoot(place)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	return source.Read(root.FS(), source.Limits{})
}

// pack packs a tree of files. The form and the place of the tree are for messages.
func pack(form, place string, tree fs.FS) (Archive, error) {
	data, err := source.Pack(tree)
	if err != nil {
		return Archive{}, exit.BadInput("%s %q: %w", form, place, err)
	}
	// Digest and limits are computed from the packed files, because the operator renders only these.
	packed, err := source.Unpack(data, source.Limits{})
	if err != nil {
		return Archive{}, exit.BadInput("%s %q: %w", form, place, err)
	}
	digest, chart, err := identify(form, place, packed)
	if err != nil {
		return Archive{}, err
	}
	if len(data) > source.MaxConfigMapsArchive {
		return Archive{}, tooLarge(form, place, len(data), packed)
	}
	return Archive{Data: data, Digest: digest, Chart: chart}, nil
}

// identify returns the digests of the files of an archive, and of the chart in them. The form and the place of the
// archive are for messages.
func identify(form, place string, tree fs.FS) (digest, chart string, err error) {
	files, err := filesOf(tree)
	if err != nil {
		return "", "", err
	}
	if len(files) == 0 {
		return "", "", exit.BadInput("%s %q is empty; want a chart, a kustomization or templates", form, place)
	}
	if digest, err = source.Digest(tree); err != nil {
		return "", "", err
	}
	chart, err = chartOf(tree)
	return digest, chart, err
}

// file is a file with its size before compression.
type file struct {
	path string
	size int64
}

func filesOf(folder fs.FS) ([]file, error) {
	var files []file
	err := fs.WalkDir(folder, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		files = append(files, file{path, info.Size()})
		return nil
	})
	return files, err
}

// tooLarge returns an error that names the largest files, which a person may remove.
func tooLarge(form, place string, size int, tree fs.FS) error {
	files, err := filesOf(tree)
	if err != nil {
		return err
	}
	slices.SortFunc(files, func(a, b file) int {
		return cmp.Or(cmp.Compare(b.size, a.size),
			strings.Compare(a.path, b.path))
	})
	var largest []string
	for _, f := range files[:min(3, len(files))] {
		largest = append(largest, fmt.Sprintf("%s (%d bytes)", f.path, f.size))
	}
	return exit.BadInput("%s %q has %d bytes when it is packed; the limit is %d bytes; "+
		"remove files that are not rendered, such as tests, documentation and unused sub-charts, or apply a subfolder as a "+
		"component of its own (under the name of an existing component, its objects outside of the subfolder are deleted); "+
		"the largest files are %s",
		form, place, size, source.MaxConfigMapsArchive, strings.Join(largest, ", "))
}
