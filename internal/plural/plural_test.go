package plural_test

import (
	"testing"

	"github.com/fairlead-io/fairlead/internal/plural"
)

func TestOf(t *testing.T) {
	for n, want := range map[int]string{0: "0 more objects", 1: "1 more object", 2: "2 more objects"} {
		if got := plural.Of(n, "more object"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
