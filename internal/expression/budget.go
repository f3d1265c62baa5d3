package expression

import "fmt"

// maxExpressions is the maximum length of all different expressions of a set together, in bytes. To compile an
// expression of 2 KiB can take 20 ms.
const maxExpressions = 128 << 10

// ErrBudget is the error of expressions that are together too long.
var ErrBudget = fmt.Errorf(
	"the expressions of the set together contain more than %d bytes; use fewer or shorter expressions", maxExpressions,
)

// NewBudget returns the budget of a set.
func NewBudget() *Budget { return &Budget{seen: map[string]bool{}} }

// Budget bounds the expressions of a set before they are compiled. The nil budget has no bound.
type Budget struct {
	seen  map[string]bool
	spent int
}

// Spend returns an error if an expression exceeds the budget.
func (b *Budget) Spend(text string) error {
	if b == nil || b.seen[text] {
		return nil
	}
	if b.spent += len(text); b.spent > maxExpressions {
		return ErrBudget
	}
	b.seen[text] = true
	return nil
}
