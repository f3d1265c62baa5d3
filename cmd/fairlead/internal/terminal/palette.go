package terminal

import (
	"io"
	"os"
)

// Tone is a colour, named by its meaning.
type Tone string

// The tones. Their values are the parameters of the SGR sequence of ECMA-48.
const (
	Plain   Tone = ""
	Good    Tone = "32"
	Busy    Tone = "33"
	Bad     Tone = "31"
	Faint   Tone = "2"
	Strong  Tone = "1"
	Added   Tone = "32"
	Removed Tone = "31"
	Place   Tone = "36"
)

// Palette colours texts. The zero value has no colours and returns texts unchanged.
type Palette struct {
	colours bool
}

// NewPalette returns the palette for a writer. It has colours only if the writer is a terminal, off is false, and the
// environment variable NO_COLOR is empty (https://no-color.org).
func NewPalette(out io.Writer, off bool) Palette {
	_, isTerminal := Descriptor(out)
	return Palette{colours: isTerminal && !off && os.Getenv("NO_COLOR") == ""}
}

// Coloured returns a palette with colours for any writer.
func Coloured() Palette { return Palette{colours: true} }

// In returns a text in the colour of a tone.
func (p Palette) In(tone Tone, text string) string {
	if !p.colours || tone == Plain || text == "" {
		return text
	}
	return "\x1b[" + string(tone) + "m" + text + "\x1b[0m"
}
