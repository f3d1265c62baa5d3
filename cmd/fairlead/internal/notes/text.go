package notes

import (
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/terminal"
)

// InSource reports whether a source may have notes.
func InSource(files fs.FS) bool {
	found := false
	_ = fs.WalkDir(files, ".", func(name string, _ fs.DirEntry, err error) error {
		if found = found || path.Base(name) == "NOTES.txt"; found {
			return fs.SkipAll
		}
		return err
	})
	return found
}

// Print prints notes. It prints nothing if there are none.
func Print(out io.Writer, text string) (err error) {
	if text = strings.TrimSpace(text); text != "" {
		_, err = fmt.Fprintln(out, terminal.CleanText(text))
	}
	return err
}
