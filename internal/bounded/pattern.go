package bounded

import (
	"fmt"
	"regexp/syntax"
	"strings"
)

// MaxPattern is the maximum size of a compiled regular expression, in instructions. A repetition multiplies the size of
// its operand: a few bytes can compile to more than 100 MiB.
const MaxPattern = 50_000

// Pattern returns the size of a regular expression in instructions, and an error if it exceeds MaxPattern. An invalid
// expression is no error here; its compiler reports it.
func Pattern(expression string) (int, error) {
	if !strings.Contains(expression, "{") && len(expression) <= MaxPattern {
		return len(expression), nil
	}
	parsed, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return 0, nil
	}
	size := instructions(parsed)
	if size > MaxPattern {
		return size, &LimitError{Reason: fmt.Sprintf(
			"the regular expression %.40q compiles to more than %d instructions: repeat less", expression, MaxPattern)}
	}
	return size, nil
}

// instructions returns the approximate number of instructions of a parsed expression. The parser bounds the depth to
// 1000, and nested repetitions to 1000 repeats, so the number does not overflow.
func instructions(parsed *syntax.Regexp) int {
	total := 1 + len(parsed.Rune)
	for _, sub := range parsed.Sub {
		total += instructions(sub)
	}
	if parsed.Op == syntax.OpRepeat {
		total *= max(parsed.Min, parsed.Max, 1)
	}
	return total
}
