package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/test/docs"
)

const cast = `{"version":2,"width":8,"height":2,"title":"make demo"}
[0.5,"o","\u001b[1mOne\u001b[0m <"]
[1.0,"o","2>\r\n"]
[60.0,"o","123456789\r\n"]
`

func TestReadShortensPausesAndWrapsLines(t *testing.T) {
	got, err := read(strings.NewReader(cast))
	if err != nil {
		t.Fatal(err)
	}
	want := []line{
		{at: 1, parts: []part{{"bold", "One"}, {"", " <2>"}}},
		{at: 2.62, parts: []part{{"", "12345678"}}},
		{at: 2.74, parts: []part{{"", "9"}}},
	}
	if diff := cmp.Diff(want, got.lines, cmp.AllowUnexported(line{}, part{}), cmp.Comparer(func(a, b float64) bool {
		return a-b < 1e-9 && b-a < 1e-9
	})); diff != "" {
		t.Error(diff)
	}
}

func TestReadRefusesOtherFormats(t *testing.T) {
	for _, content := range []string{"", "text", `{"version":1,"width":8,"height":2}`, cast + "[1]\n[\"x\"]\n"} {
		if _, err := read(strings.NewReader(content)); err == nil {
			t.Errorf("accepted: %q", content)
		}
	}
}

func TestRenderShowsLineByLine(t *testing.T) {
	r, err := read(strings.NewReader(cast))
	if err != nil {
		t.Fatal(err)
	}
	got := render(r)
	if err := docs.CheckImage(got); err != nil {
		t.Error(err)
	}
	for _, want := range []string{
		`<title>A recording of make demo</title>`,
		`<text y="13"><tspan class="bold">One</tspan> &lt;2&gt;</text>`,
		// The cover moves with each line. The lines move when the third one exceeds the height.
		"#cover { animation: cover 8.74s step-end infinite; }\n@keyframes cover {\n0%{transform:translateY(0px)}\n" +
			"11.442%{transform:translateY(17px)}\n29.977%{transform:translateY(34px)}\n31.350%{transform:translateY(51px)}\n}",
		"@keyframes scroll {\n0%{transform:translateY(0px)}\n31.350%{transform:translateY(-17px)}\n}",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("want %s in %s", want, got)
		}
	}
}
