package manifests

import "fmt"

// maxExpressions is the maximum length of all different expressions of a set together, in bytes. To compile an
// expression of 2 KiB can take 20 ms.
const maxExpressions = 128 << 10

var errTooManyExpressions = fmt.Errorf(
	"the expressions of the set have together more than %d bytes; use fewer or shorter expressions", maxExpressions,
)

// expressionBudget bounds the expressions of a set before they are compiled. The nil expressionBudget has no bound.
type expressionBudget struct {
	seen  map[string]bool
	spent int
}

// expressionAnnotations are the annotations whose values are expressions.
var expressionAnnotations = []string{
	AnnotationIncludeWhen, AnnotationActiveWhen, AnnotationReadyWhen, AnnotationGoneWhen,
	AnnotationExport,
}

// spendAll returns an error if the expressions in the annotations of a manifest exceed the budget.
func (b *expressionBudget) spendAll(prefix string, annotations map[string]string) error {
	for _, name := range expressionAnnotations {
		if err := b.spend(annotations[prefix+"/"+name]); err != nil {
			return err
		}
	}
	return nil
}

// spend returns an error if an expression exceeds the budget.
func (b *expressionBudget) spend(text string) error {
	if b == nil || b.seen[text] {
		return nil
	}
	if b.spent += len(text); b.spent > maxExpressions {
		return errTooManyExpressions
	}
	b.seen[text] = true
	return nil
}
