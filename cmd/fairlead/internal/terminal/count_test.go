package terminal_test

import (
	"testing"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/terminal"
)

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 more objects", 1: "1 more object", 2: "2 more objects"} {
		if got := terminal.Count(n, "more object"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
