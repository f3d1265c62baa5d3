package imports

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// module is the prefix of the packages of the project, without which the table names them.
const module = "github.com/fairlead-io/fairlead/"

// room is a package with a rule for its imports. A row also holds for the packages below the path that have no row of
// their own, and these may import each other. Tests may import what they need.
type room struct {
	// path is a folder. The last element * stands for each folder in a folder.
	path string
	// why says what the room knows, which is the reason for the rule.
	why string
	// may are the packages of the project that the room may import: folders, and with /... the folders below them, too.
	// A room may import only rooms that stand above it in the table.
	may string
	// not are packages that the room may not import. They may be of other modules, which a room may import otherwise. If
	// patterns of may and not match a package, the longer pattern decides.
	not string
}

// imported is an import of a package in a file. The folder is that of the file, and the package is without the prefix
// of the module.
type imported struct {
	folder, file, name string
	isTest, isOwn      bool
}

// imports returns the imports of all Go files below a root, in the order of their folders. Test data and hidden folders
// are left out.
func imports(root string) ([]imported, error) {
	var all []imported
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name != root && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata" || entry.Name() == "bin") {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(name) != ".go" {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		relative = filepath.ToSlash(relative)
		for _, spec := range file.Imports {
			text, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			own, isOwn := strings.CutPrefix(text, module)
			all = append(all, imported{path.Dir(relative), relative, own, strings.HasSuffix(name, "_test.go"), isOwn})
		}
		return nil
	})
	return all, err
}

// check returns a text for each import that a row forbids, sorted.
func check(all []imported, rooms []room, reservations []reserved) []string {
	var refused []string
	for _, i := range all {
		r, other := roomOf(i.folder, rooms), room{}
		if i.isOwn {
			other = roomOf(i.name, rooms)
		}
		switch {
		case r.path == "" || i.isTest || r.path == other.path:
		case !r.allows(i):
			refused = append(refused, fmt.Sprintf("%s imports %s, but its room is %s: %s", i.file, i.name, r.path, r.why))
		case position(other, rooms) > position(r, rooms):
			refused = append(refused, fmt.Sprintf("%s imports %s, which stands below %s in the table", i.file, i.name, r.path))
		}
		for _, r := range reservations {
			if !r.allows(i) {
				refused = append(refused, fmt.Sprintf("%s imports %s: %s", i.file, i.name, r.why))
			}
		}
	}
	slices.Sort(refused)
	return slices.Compact(refused)
}

// roomOf returns the row for a folder: the one with the longest path. The zero value means that there is none.
func roomOf(folder string, rooms []room) room {
	var found room
	for _, r := range rooms {
		if match(r.path+"/...", folder) && len(r.path) > len(found.path) {
			found = r
		}
	}
	return found
}

// position returns the position of a row in the table, and -1 for the zero value.
func position(r room, rooms []room) int {
	return slices.IndexFunc(rooms, func(other room) bool { return other.path == r.path })
}

// allows reports whether a package of the room may import a package outside the room.
func (r room) allows(i imported) bool {
	may, not := longest(r.may, i.name), longest(r.not, i.name)
	isModule := strings.Contains(i.name, ".") && longest(r.not, modules) > 0
	if i.isOwn || isModule {
		return may > not
	}
	return may >= not
}

func (r reserved) allows(i imported) bool {
	return longest(r.path, i.name) == 0 || longest(r.by, i.folder) > 0 || i.isTest && longest(r.tests, i.folder) > 0
}

// longest returns the length of the longest pattern in a list that matches a name, or zero if none does.
func longest(patterns, name string) int {
	n := 0
	for p := range strings.FieldsSeq(patterns) {
		if match(p, name) {
			n = max(n, len(p))
		}
	}
	return n
}

// match reports whether a pattern matches a name. With /... at its end, the pattern also matches all names below it.
func match(pattern, name string) bool {
	folder, below := strings.CutSuffix(pattern, "...")
	folder = strings.TrimSuffix(folder, "/")
	return name == folder || below && (folder == "" || strings.HasPrefix(name, folder+"/"))
}

// expand returns rows in which a row for each folder of a folder replaces a row whose path ends in a star.
func expand(root string, rows []room) ([]room, error) {
	var all []room
	for _, r := range rows {
		parent, ok := strings.CutSuffix(r.path, "/*")
		if !ok {
			all = append(all, r)
			continue
		}
		entries, err := os.ReadDir(filepath.Join(root, parent))
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if e.IsDir() && e.Name() != "testdata" {
				r.path = parent + "/" + e.Name()
				all = append(all, r)
			}
		}
	}
	return all, nil
}
