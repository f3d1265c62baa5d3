package show

import (
	"strings"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/readers"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/terminal"
)

// ReaderText says what a component reads from another component.
func ReaderText(r readers.Reader) string {
	return r.Component + " reads " + strings.Join(r.Reads, ", ")
}

// writeReaders writes the components that read from a component which would be deleted.
func writeReaders(text *strings.Builder, palette terminal.Palette, found []readers.Reader) {
	if len(found) == 0 {
		return
	}
	title := "Other components read from this one, and lose what they read:"
	text.WriteString("\n" + palette.In(terminal.Bad, title) + "\n")
	for _, r := range found {
		text.WriteString("  " + terminal.Clean(ReaderText(r)) + "\n")
	}
}
