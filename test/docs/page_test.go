package docs_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/test/docs"
)

const page = `# A page

<!-- docs: own -->

Text with a [link](other.md#top) and ![an image](picture.png).

` + "```sh norun\nmake demo\n```" + `

<!-- yaml file=values.yaml
replicas: 1
-->

<!-- A remark of the author, which is no code. -->

1. In a list:

   ` + "```console\n   $ true\n   ```" + `

## It's ` + "`code`" + `, isn't it?

## A page
`

func TestParse(t *testing.T) {
	got, err := docs.Parse("docs/a.md", []byte(page))
	if err != nil {
		t.Fatal(err)
	}
	want := &docs.Page{
		Path:       "docs/a.md",
		Directives: []string{"own"},
		Blocks: []docs.Block{
			{Line: 8, Language: "sh", Words: []string{"norun"}, Text: "make demo\n"},
			{Line: 12, Language: "yaml", Words: []string{"file=values.yaml"}, Text: "replicas: 1\n"},
			{Line: 20, Language: "console", Words: []string{}, Text: "$ true\n"},
		},
		Links: []docs.Link{
			{Line: 5, Destination: "other.md#top"}, {Line: 5, Destination: "picture.png", Image: true, Text: "an image"},
		},
		Anchors:  map[string]bool{"a-page": true, "its-code-isnt-it": true, "a-page-1": true},
		Words:    31,
		Passages: []docs.Passage{{Line: 5, Words: 7}, {Line: 17, Words: 3}},
	}
	if difference := cmp.Diff(want, got); difference != "" {
		t.Error(difference)
	}
}

func TestParseRefusesIndentedCode(t *testing.T) {
	_, err := docs.Parse("docs/a.md", []byte("Text.\n\n    code\n"))
	if err == nil || !strings.Contains(err.Error(), "docs/a.md:3: indented code") {
		t.Error(err)
	}
}

func TestDecide(t *testing.T) {
	for _, test := range []struct {
		info   string
		reason string
		want   docs.Action
		err    string
	}{
		{info: "sh", want: docs.ActionRun},
		{info: "sh norun", reason: "it needs a registry", want: docs.ActionSyntax},
		{info: "console norun", reason: "it needs a registry", want: docs.ActionShow},
		{info: "sh norun", err: "the reason for norun is missing"},
		{info: "sh", reason: "it needs a registry", err: "the block has a reason for norun, but not the word norun"},
		{info: "sh fails", want: docs.ActionFail},
		{info: "console", want: docs.ActionCompare},
		{info: "console eventually", want: docs.ActionAwait},
		{info: "yaml", want: docs.ActionDryRun},
		{info: "yaml file=a/b.yaml", want: docs.ActionWrite},
		{info: "text", want: docs.ActionShow},
		{info: "", err: "no info string; write console, go, json"},
		{info: "bash", err: `unknown info string "bash"; write console`},
		{info: "sh later", err: `"later" after sh; write fails, norun, nothing, or file=PATH`},
		{info: "sh norun fails", err: `"norun fails" after sh: only one word is allowed`},
	} {
		got, err := decide(t, test.info, test.reason)
		if test.err == "" && err != nil || test.err != "" && (err == nil || !strings.HasPrefix(err.Error(), test.err)) {
			t.Errorf("%q: want error %q, got %v", test.info, test.err, err)
		}
		if got != test.want {
			t.Errorf("%q: want %q, got %q", test.info, test.want, got)
		}
	}
}

func decide(t *testing.T, info, reason string) (docs.Action, error) {
	t.Helper()
	block := "```" + info + "\nx\n```\n"
	if reason != "" {
		block = "<!-- norun: " + reason + " -->\n" + block
	}
	p, err := docs.Parse("a.md", []byte(block))
	if err != nil || len(p.Blocks) != 1 {
		t.Fatalf("%v: %v", p, err)
	}
	return p.Blocks[0].Decide()
}

func TestAReasonIsThatOfTheBlockRightAfterIt(t *testing.T) {
	p, err := docs.Parse("a.md", []byte("<!-- norun: far away -->\n\nText.\n\n```sh norun\none\n```\n\n- In a list:\n\n"+
		"  <!-- norun: it needs\n  a registry -->\n  ```sh norun\n  two\n  ```\n"))
	if err != nil || len(p.Blocks) != 2 {
		t.Fatalf("%v: %v", p, err)
	}
	if got := []string{p.Blocks[0].Reason, p.Blocks[1].Reason}; got[0] != "" || !strings.HasPrefix(got[1], "it needs") {
		t.Errorf("%q", got)
	}
}

func TestCommands(t *testing.T) {
	got := docs.Commands(docs.Block{Line: 7, Text: "$ one \\\n  --flag\nout\n$ two\n$ three\nline\n\nline\n"})
	want := []docs.Command{
		{Line: 7, Script: "one \\\n  --flag", Want: "out\n"},
		{Line: 10, Script: "two"},
		{Line: 11, Script: "three", Want: "line\n\nline\n"},
	}
	if difference := cmp.Diff(want, got); difference != "" {
		t.Error(difference)
	}
}

func TestMatches(t *testing.T) {
	for _, test := range []struct {
		want, got string
		matches   bool
	}{
		{"a\nb\n", "a\nb\n", true},
		{"a\n", "a  \n", true},
		{"a\n", "a", true},
		{"a  b\n", "a     b\n", true},
		{"  a\n", "a\n", false},
		{"a\n", "a\nb\n", false},
		{"a.c\n", "abc\n", false},
		{"a … c\n", "a b b c\n", true},
		{"a …\n", "b\n", false},
		{"a…c\n", "a\nc\n", false},
		{"a\n…\nd\n", "a\nb\nc\nd\n", true},
		{"a\n…\nd\n", "a\nd\n", true},
		{"…\nd\n", "a\nc\n", false},
		{"ready for 3m, 2h5m ago\n", "ready for 1s, 12s ago\n", true},
		{"ready for 3m\n", "ready for ever\n", false},
		{"at 2026-03-01T12:06:00Z\n", "at 2026-11-21T23:35:58Z\n", true},
		{"ConfigMap shop-8f4343466487\n", "ConfigMap shop-4fa26a7aeb8b\n", true},
		{"ConfigMap shop-8f4343466487\n", "ConfigMap shop-4fa2\n", false},
		{"3 updated\n", "4 updated\n", false},
	} {
		if docs.Matches(test.want, test.got) != test.matches {
			t.Errorf("%q and %q: want %v", test.want, test.got, test.matches)
		}
	}
}

func TestCheckLinksTellsWhatLeadsNowhere(t *testing.T) {
	for destination, want := range map[string]string{
		"https://example.com/a#b":     "",
		"decide.go":                   "",
		"#here":                       "",
		"b.md":                        "the file does not exist",
		"#there":                      "the heading does not exist",
		"decide.go#L1":                "only headings of documentation pages have anchors",
		"mailto:somebody@example.com": "no host",
	} {
		p := &docs.Page{
			Path: "doc.go", Links: []docs.Link{{Line: 3, Destination: destination}},
			Anchors: map[string]bool{"here": true},
		}
		err := docs.CheckLinks(".", []*docs.Page{p})
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasSuffix(err.Error(), want)) {
			t.Errorf("%s: want %q, got %v", destination, want, err)
		}
	}
}

func TestCheckGoTellsWhatDoesNotCompile(t *testing.T) {
	p := &docs.Page{Path: "a.md", Blocks: []docs.Block{
		{Line: 3, Language: "go", Text: "import \"strings\"\n"},
		{Line: 7, Language: "go", Text: "unused := strings.ToUpper(name)\nx, err := 1, error(nil)\n"},
		{Line: 12, Language: "go", Text: "const name = \"n\"\n"},
		{Line: 20, Language: "go", Text: "x, err := strings.Missing(unused)\n"},
	}}
	err := docs.CheckGo(t.Context(), root, []*docs.Page{p})
	if err == nil || err.Error() != "a.md:20: undefined: strings.Missing" {
		t.Error(err)
	}
}

func TestCompleteFillsInWhatAComponentNeeds(t *testing.T) {
	got, err := docs.Complete("spec:\n  suspend: true\n")
	want := "apiVersion: fairlead.io/v1alpha1\nkind: Component\nmetadata:\n  name: example\nspec:\n" +
		"  source:\n    inline:\n      files:\n        empty.yaml: \"\"\n  suspend: true\n"
	if err != nil || got != want {
		t.Errorf("%v\n%s", err, got)
	}
}
