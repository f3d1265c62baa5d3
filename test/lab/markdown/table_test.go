package markdown_test

import (
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/test/lab/markdown"
)

func TestColumnsAreAlignedByCharacters(t *testing.T) {
	var out strings.Builder
	markdown.WriteTable(&out, [][]string{{"measure", "goal"}, {"× floor", "2"}})
	want := "| measure | goal |\n|---------|------|\n| × floor | 2    |\n"
	if out.String() != want {
		t.Errorf("got\n%s, want\n%s", out.String(), want)
	}
}
