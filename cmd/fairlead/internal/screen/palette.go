package screen

import (
	"io"
	"os"
)

// Tone is what a colour means.
type Tone string

// The tones. Their values are parameters of ECMA-48's sequence for colours.
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

// Palette colours texts, or leaves them as they are. The zero value has no colours.
type Palette struct {
	colours bool
}

// NewPalette returns the palette that fits what is written to: colours on a terminal only, and none where a person does not want them, by
// off or by a variable NO_COLOR that is not empty (https://no-color.org).
func NewPalette(out io.Writer, off bool) Palette {
	_, terminal := Terminal(out)
	return Palette{colours: terminal && !off && os.Getenv("NO_COLOR") == ""}
}

// Coloured is a palette with colours, whatever is written to.
func Coloured() Palette { return Palette{colours: true} }

// In returns a text in a tone.
func (p Palette) In(tone Tone, text string) string {
	if !p.colours || tone == Plain || text == "" {
		return text
	}
	return "\x1b[" + string(tone) + "m" + text + "\x1b[0m"
}
