package terminal_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/terminal"
)

func TestCutCountsWhatIsSeen(t *testing.T) {
	red := terminal.Coloured().In(terminal.Bad, "Stalled")
	for _, c := range []struct {
		name, line string
		width      int
		want       string
	}{
		{"a line that fits", "ready", 6, "ready"},
		{"a line as wide as the terminal", "ready", 5, "rea…"},
		{"characters of several bytes", "größer", 5, "grö…"},
		{"characters of two columns", "日本語です", 8, "日本語…"},
		{"an emoji of several code points", "👩‍👩‍👧 family", 5, "👩‍👩‍👧 …"},
		{"colours have no width", red, 8, red},
		{"the end of a colour in a shortened text", red + " now", 5, "\x1b[31mSta…\x1b[0m"},
		{"a terminal with one column", "ready", 1, "…"},
	} {
		if got := terminal.Cut(c.line, c.width); got != c.want {
			t.Errorf("%s: want the shortened line %q, got %q", c.name, c.want, got)
		}
	}
}

func TestWidthCountsColumns(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "größer": 6, "日本": 4, "e\u0301": 1,
		terminal.Coloured().In(terminal.Bad, "no"): 2,
	} {
		if got := terminal.Width(text); got != want {
			t.Errorf("the width of %q: want %d, got %d", text, want, got)
		}
	}
}

func TestCleanLeavesNoControl(t *testing.T) {
	for text, want := range map[string]string{
		"a\x1b[31mb\rc\u009bd":                "a�[31mb�c�d",
		"\x1b]8;;http://example.com\x1b\\a\a": "�]8;;http://example.com�\\a�",
		"\x1b]52;c;cm0=\a":                    "�]52;c;cm0=�",
		"user\u202egpj.exe\u202c\u2066\u2069": "user�gpj.exe���",
		"a\u2028b\x7f\xff":                    "a�b��",
		"a\nb\tc":                             "a�b�c",
		"👩‍👩‍👧 größer":                        "👩‍👩‍👧 größer",
	} {
		if got := terminal.Clean(text); got != want {
			t.Errorf("Clean(%q) is %q, want %q", text, got, want)
		}
	}
	if got := terminal.CleanText("a\r\nb\tc\rd\x1b[2J"); got != "a\nb\tc�d�[2J" {
		t.Errorf("CleanText returned %q", got)
	}
}

func TestThereAreNoColoursWhereNobodySeesThem(t *testing.T) {
	file, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	for _, palette := range []terminal.Palette{
		{},
		terminal.NewPalette(file, false),
		terminal.NewPalette(&bytes.Buffer{}, false),
	} {
		if got := palette.In(terminal.Good, "Ready"); got != "Ready" {
			t.Errorf("a palette without colours changed the text to %q", got)
		}
	}
}

func TestArgument(t *testing.T) {
	for text, want := range map[string]string{
		"./chart": "./chart", "": "''", "./my chart": "'./my chart'", "it's": `'it'\''s'`, "a&b": "'a&b'", "$HOME": "'$HOME'",
	} {
		if got := terminal.Argument(text); got != want {
			t.Errorf("Argument(%q) is %s, want %s", text, got, want)
		}
	}
}
