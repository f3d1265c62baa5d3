package templating

import (
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"text/template"
)

// growing are the template functions whose result can be much larger than their arguments.
type growing struct{ in *Input }

// functions returns the template functions whose result can be much larger than their arguments. Each charges its
// result to the budget before it is computed.
func (g growing) functions() template.FuncMap {
	functions := template.FuncMap{
		"repeat":    g.repeat,
		"replace":   g.replace,
		"indent":    g.indent,
		"until":     g.until,
		"untilStep": g.untilStep,
		"seq":       g.seq,
		"split":     func(separator, text string) (map[string]string, error) { return g.splitn(separator, -1, text) },
		"splitn":    g.splitn,
	}
	functions["nindent"] = func(spaces int, text string) (string, error) {
		indented, err := g.indent(spaces, text)
		return "\n" + indented, err
	}
	random := func(f func(int) string) any {
		return func(count int) (string, error) {
			if err := g.in.Budget.spendProduct(count, 1); err != nil {
				return "", err
			}
			return f(count), nil
		}
	}
	maps.Copy(functions, around(random, "randAlpha", "randAlphaNum", "randAscii", "randNumeric"))
	maps.Copy(functions, around(func(f func(int) (string, error)) any {
		return func(count int) (string, error) {
			if err := g.in.Budget.spendProduct(count, 2); err != nil {
				return "", err
			}
			return f(count)
		}
	}, "randBytes"))
	maps.Copy(functions, around(func(f func(int, string, string) string) any {
		return func(width int, separator, text string) (string, error) {
			if err := g.in.Budget.spendWritten(text); err != nil {
				return "", err
			}
			if err := g.in.Budget.spendProduct(len(text)/max(width, 1), len(separator)); err != nil {
				return "", err
			}
			return f(width, separator, text), nil
		}
	}, "wrapWith"))
	maps.Copy(functions, g.regexReplacements())
	return functions
}

func (g growing) repeat(count int, text string) (string, error) {
	if count < 0 {
		return "", fmt.Errorf("repeat: the count %d is negative", count)
	}
	if err := g.in.Budget.spendProduct(count, len(text)); err != nil {
		return "", err
	}
	return strings.Repeat(text, count), nil
}

func (g growing) replace(old, replacement, text string) (string, error) {
	if err := g.in.Budget.spendWritten(text); err != nil {
		return "", err
	}
	if err := g.in.Budget.spendProduct(strings.Count(text, old), len(replacement)); err != nil {
		return "", err
	}
	return strings.ReplaceAll(text, old, replacement), nil
}

func (g growing) indent(spaces int, text string) (string, error) {
	if spaces < 0 {
		return "", fmt.Errorf("indent: the number of spaces %d is negative", spaces)
	}
	if err := g.in.Budget.spendWritten(text); err != nil {
		return "", err
	}
	if err := g.in.Budget.spendProduct(strings.Count(text, "\n")+1, spaces); err != nil {
		return "", err
	}
	padding := strings.Repeat(" ", spaces)
	return padding + strings.ReplaceAll(text, "\n", "\n"+padding), nil
}

func (g growing) until(count int) ([]int, error) {
	if count < 0 {
		return g.untilStep(0, count, -1)
	}
	return g.untilStep(0, count, 1)
}

// untilStep returns the numbers from start to stop, without stop, in steps of step. It returns an empty list if step
// has the wrong sign.
func (g growing) untilStep(start, stop, step int) ([]int, error) {
	if step == 0 || (stop < start) != (step < 0) {
		return []int{}, nil
	}
	const largest = 1 << 40
	for _, number := range []int{start, stop, step} {
		if number > largest || number < -largest {
			return nil, fmt.Errorf("%d is out of range", number)
		}
	}
	count := (stop - start) / step
	if count*step != stop-start {
		count++
	}
	if err := g.in.Budget.spendProduct(count, elementCost); err != nil {
		return nil, err
	}
	numbers := make([]int, count)
	for i := range numbers {
		numbers[i] = start + i*step
	}
	return numbers, nil
}

// seq returns a sequence of numbers, like the shell command seq. Its parameters are END, START END, or START STEP END.
// The result includes END.
func (g growing) seq(parameters ...int) (string, error) {
	start, step, end := 1, 1, 0
	switch len(parameters) {
	case 1:
		end = parameters[0]
	case 2:
		start, end = parameters[0], parameters[1]
	case 3:
		start, step, end = parameters[0], parameters[1], parameters[2]
	default:
		return "", nil
	}
	direction := 1
	if end < start {
		direction = -1
	}
	if len(parameters) < 3 {
		step = direction
	}
	numbers, err := g.untilStep(start, end+direction, step)
	if err != nil {
		return "", err
	}
	texts := make([]string, len(numbers))
	for i, number := range numbers {
		texts[i] = strconv.Itoa(number)
	}
	return strings.Join(texts, " "), nil
}

// splitn splits a text into at most n parts, and returns them in a map with the keys _0, _1 and so on.
func (g growing) splitn(separator string, n int, text string) (map[string]string, error) {
	if err := g.in.Budget.spendProduct(strings.Count(text, separator)+1, callCost); err != nil {
		return nil, err
	}
	parts := map[string]string{}
	for i, part := range strings.SplitN(text, separator, n) {
		parts["_"+strconv.Itoa(i)] = part
	}
	return parts, nil
}

// regexReplacements returns the template functions that replace matches of regular expressions. They charge the largest
// possible result: the replacement for each match, and the whole text for each $ in the replacement.
func (g growing) regexReplacements() template.FuncMap {
	spend := func(pattern, text, replacement string) error {
		compiled, err := regexp.Compile(pattern)
		if err != nil {
			return err
		}
		if err := g.in.Budget.spendProduct(strings.Count(replacement, "$")+1, len(text)); err != nil {
			return err
		}
		return g.in.Budget.spendProduct(len(compiled.FindAllStringIndex(text, -1)), len(replacement))
	}
	functions := around(func(f func(string, string, string) string) any {
		return func(pattern, text, replacement string) (string, error) {
			if err := spend(pattern, text, replacement); err != nil {
				return "", err
			}
			return f(pattern, text, replacement), nil
		}
	}, "regexReplaceAll", "regexReplaceAllLiteral")
	maps.Copy(functions, around(func(f func(string, string, string) (string, error)) any {
		return func(pattern, text, replacement string) (string, error) {
			if err := spend(pattern, text, replacement); err != nil {
				return "", err
			}
			return f(pattern, text, replacement)
		}
	}, "mustRegexReplaceAll", "mustRegexReplaceAllLiteral"))
	return functions
}
