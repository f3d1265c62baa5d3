package source

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing/fstest"
	"unicode"
)

// Fixed modes of files and folders in a source. The modes in an archive are ignored, because no file of a source is
// executed.
const (
	fileMode   fs.FileMode = 0o644
	folderMode fs.FileMode = 0o755
)

// maxNameBytes limits the path of an entry, and thereby the depth of folders.
const maxNameBytes = 512

// FromFiles returns a source with the given files. Paths are relative, clean, and use forward slashes. The contents are
// not copied; the caller must not change them afterwards. The default limits apply.
func FromFiles(files map[string][]byte) (fs.FS, error) {
	t := newTree(Limits{})
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := checkName(name); err != nil {
			return nil, err
		}
		if err := t.reserve(name, int64(len(files[name]))); err != nil {
			return nil, err
		}
		t.put(name, files[name])
	}
	return t.fs(), nil
}

// memory is a read-only tree of files. It hides the map, so that users of the fs.FS cannot change it.
type memory struct{ files fstest.MapFS }

func (m memory) Open(name string) (fs.File, error)          { return m.files.Open(name) }
func (m memory) ReadFile(name string) ([]byte, error)       { return m.files.ReadFile(name) }
func (m memory) ReadDir(name string) ([]fs.DirEntry, error) { return m.files.ReadDir(name) }
func (m memory) Stat(name string) (fs.FileInfo, error)      { return m.files.Stat(name) }

// tree collects validated entries.
type tree struct {
	files  fstest.MapFS
	budget budget
}

func newTree(limits Limits) *tree {
	return &tree{files: fstest.MapFS{}, budget: budget{limits: limits.withDefaults()}}
}

func (t *tree) fs() fs.FS { return memory{files: t.files} }

// reserve validates a file against the other entries and the limits, before its content is read.
func (t *tree) reserve(name string, size int64) error {
	if _, exists := t.files[name]; exists {
		return fmt.Errorf("entry %s: the name occurs twice", quoted(name))
	}
	if err := t.budget.takeFile(name, size); err != nil {
		return err
	}
	return t.addParents(name)
}

func (t *tree) put(name string, content []byte) {
	t.files[name] = &fstest.MapFile{Data: content, Mode: fileMode}
}

// addFolder adds a folder. The folder may exist already, because an archive may list a folder after its files.
func (t *tree) addFolder(name string) error {
	if existing, exists := t.files[name]; exists {
		if !existing.Mode.IsDir() {
			return fmt.Errorf("entry %s: it is a file and a folder at the same time", quoted(name))
		}
		return nil
	}
	if err := t.budget.takeEntry(name); err != nil {
		return err
	}
	if err := t.addParents(name); err != nil {
		return err
	}
	t.files[name] = &fstest.MapFile{Mode: folderMode | fs.ModeDir}
	return nil
}

func (t *tree) addParents(name string) error {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		existing, exists := t.files[dir]
		if exists && !existing.Mode.IsDir() {
			return fmt.Errorf("entry %s: %s is a file and a folder at the same time", quoted(name), quoted(dir))
		}
		if exists {
			return nil
		}
		if err := t.budget.takeEntry(name); err != nil {
			return err
		}
		t.files[dir] = &fstest.MapFile{Mode: folderMode | fs.ModeDir}
	}
	return nil
}

// checkName returns an error for a name that does not denote the same file on every operating system and for every
// engine.
func checkName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("entry %s: the name is empty", quoted(name))
	case len(name) > maxNameBytes:
		return fmt.Errorf("entry %s: the name is longer than the limit of %d bytes", quoted(name), maxNameBytes)
	case strings.HasPrefix(name, "/"):
		return fmt.Errorf("entry %s: the path is absolute; use a relative one", quoted(name))
	case strings.ContainsFunc(name, func(r rune) bool { return r == '\\' || unicode.IsControl(r) }):
		return fmt.Errorf("entry %s: the name holds a backslash or a control character", quoted(name))
	case hasParent(name):
		return fmt.Errorf("entry %s: the path holds %q, which could leave the source", quoted(name), "..")
	case !fs.ValidPath(name) || name == ".":
		return fmt.Errorf("entry %s: the path is not clean; want one such as templates/web.yaml", quoted(name))
	}
	return nil
}

// quoted shortens a name from an archive for messages, because it may be a megabyte long.
func quoted(name string) string {
	const longest = 200
	if len(name) > longest {
		return strconv.Quote(name[:longest]) + "…"
	}
	return strconv.Quote(name)
}

func hasParent(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." {
			return true
		}
	}
	return false
}
