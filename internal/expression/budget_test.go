package expression_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/expression"
)

func TestBudget(t *testing.T) {
	b := expression.NewBudget()
	long := strings.Repeat("a", 100<<10)
	for _, text := range []string{"b", long, long} {
		if err := b.Spend(text); err != nil {
			t.Errorf("an expression that fits, or that was counted: %v", err)
		}
	}
	if err := b.Spend(long + "a"); !errors.Is(err, expression.ErrBudget) {
		t.Errorf("got %v", err)
	}
	var none *expression.Budget
	if err := none.Spend(long + long); err != nil {
		t.Errorf("the nil budget has no bound: %v", err)
	}
}

func TestEndOfQuote(t *testing.T) {
	for text, want := range map[string]int{
		`"a" b`: 3, `"a\"b"`: 6, `'a'`: 3, `"""a"b""" c`: 9, `"a`: -1, `""`: 2,
	} {
		if got := expression.EndOfQuote(text, 0); got != want {
			t.Errorf("%s ends at %d, want %d", text, got, want)
		}
	}
	if got := expression.EndOfQuote(`r"\" x`, 1); got != 4 {
		t.Errorf("a raw text ends at %d", got)
	}
}
