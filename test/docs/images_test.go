package docs_test

import (
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/test/docs"
)

func TestImagesAreShownAndSafe(t *testing.T) {
	if err := docs.CheckImages(root, readPages(t)); err != nil {
		t.Error(err)
	}
}

func TestCheckImage(t *testing.T) {
	const (
		style = `<style>text { fill: #000 } @media (prefers-color-scheme: dark) { text { fill: #fff } }</style>`
		begin = `<svg xmlns="http://www.w3.org/2000/svg">`
	)
	for name, c := range map[string]struct{ svg, want string }{
		"accepts a picture with references to itself": {
			begin + `<title>Waves</title>` + style + `<path marker-end="url(#tip)"/><use href="#tip"/></svg>`, "",
		},
		"refuses a picture without a title":     {begin + style + `</svg>`, "no <title>"},
		"refuses a picture with an empty title": {begin + `<title> </title>` + style + `</svg>`, "no <title>"},
		"refuses a picture without dark colours": {
			begin + `<title>Waves</title><style>text { fill: #000 }</style></svg>`, "no colours for dark pages",
		},
		"refuses a script": {
			begin + `<title>Waves</title>` + style + `<script>alert()</script></svg>`, "an element <script>",
		},
		"refuses an attribute that runs something": {
			begin + `<title>Waves</title>` + style + `<path onclick="alert()"/></svg>`, `onclick="alert()"`,
		},
		"refuses a reference to another file": {
			begin + `<title>Waves</title>` + style + `<use href="other.svg#tip"/></svg>`, `href="other.svg#tip"`,
		},
		"refuses a style that loads something": {
			begin + `<title>Waves</title>` + style + `<style>@font-face { src: url(https://example.com/f) }</style></svg>`,
			"may load something",
		},
		"refuses a style that selects one of several images": {
			begin + `<title>Waves</title>` + style + `<style>rect { fill: image-set("https://example.com/i" 1x) }</style></svg>`,
			"may load something",
		},
		"refuses such a style under its older name": {
			begin + `<title>Waves</title>` + style + `<style>rect { fill: -webkit-image-set('i' 1x) }</style></svg>`,
			"may load something",
		},
		"refuses a file that is not XML": {`<svg>`, "unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			err := docs.CheckImage(c.svg)
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("want an error with %q, got %v", c.want, err)
			}
		})
	}
}
