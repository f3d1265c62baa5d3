package templating

import (
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"text/template"
)

// growing returns the template functions whose result can be much larger than their arguments. Each charges its result
// to the budget before it is computed.
func (s *session) growing() template.FuncMap {
	functions := template.FuncMap{
		"repeat":    s.repeat,
		"replace":   s.replace,
		"indent":    s.indent,
		"until":     s.until,
		"untilStep": s.untilStep,
		"seq":       s.seq,
		"split":     func(separator, text string) (map[string]string, error) { return s.splitn(separator, -1, text) },
		"splitn":    s.splitn,
	}
	functions["nindent"] = func(spaces int, text string) (string, error) {
		indented, err := s.indent(spaces, text)
		return "\n" + indented, err
	}
	random := func(f func(int) string) any {
		return func(count int) (string, error) {
			if err := s.Budget.spendProduct(count, 1); err != nil {
				return "", err
			}
			return f(count), nil
		}
	}
	maps.Copy(functions, around(random, "randAlpha", "randAlphaNum", "randAscii", "randNumeric"))
	maps.Copy(functions, around(func(f func(int) (string, error)) any {
		return func(count int) (string, error) {
			if err := s.Budget.spendProduct(count, 2); err != nil {
				return "", err
			}
			return f(count)
		}
	}, "randBytes"))
	maps.Copy(functions, around(func(f func(int, string, string) string) any {
		return func(width int, separator, text string) (string, error) {
			if err := s.Budget.spendWritten(text); err != nil {
				return "", err
			}
			if err := s.Budget.spendProduct(len(text)/max(width, 1), len(separator)); err != nil {
				return "", err
			}
			return f(width, separator, text), nil
		}
	}, "wrapWith"))
	maps.Copy(functions, s.regexReplacements())
	return functions
}

func (s *session) repeat(count int, text string) (string, error) {
	if count < 0 {
		return "", fmt.Errorf("repeat: the count %d is negative", count)
	}
	if err := s.Budget.spendProduct(count, len(text)); err != nil {
		return "", err
	}
	return strings.Repeat(text, count), nil
}

func (s *session) replace(old, replacement, text string) (string, error) {
	if err := s.Budget.spendWritten(text); err != nil {
		return "", err
	}
	if err := s.Budget.spendProduct(strings.Count(text, old), len(replacement)); err != nil {
		return "", err
	}
	return strings.ReplaceAll(text, old, replacement), nil
}

func (s *session) indent(spaces int, text string) (string, error) {
	if spaces < 0 {
		return "", fmt.Errorf("indent: the number of spaces %d is negative", spaces)
	}
	if err := s.Budget.spendWritten(text); err != nil {
		return "", err
	}
	if err := s.Budget.spendProduct(strings.Count(text, "\n")+1, spaces); err != nil {
		return "", err
	}
	padding := strings.Repeat(" ", spaces)
	return padding + strings.ReplaceAll(text, "\n", "\n"+padding), nil
}

func (s *session) until(count int) ([]int, error) {
	if count < 0 {
		return s.untilStep(0, count, -1)
	}
	return s.untilStep(0, count, 1)
}

// untilStep returns the numbers from start to stop, without stop, in steps of step. It returns an empty list if step
// has the wrong sign.
func (s *session) untilStep(start, stop, step int) ([]int, error) {
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
	if err := s.Budget.spendProduct(count, elementCost); err != nil {
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
func (s *session) seq(parameters ...int) (string, error) {
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
	numbers, err := s.untilStep(start, end+direction, step)
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
func (s *session) splitn(separator string, n int, text string) (map[string]string, error) {
	if err := s.Budget.spendProduct(strings.Count(text, separator)+1, callCost); err != nil {
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
func (s *session) regexReplacements() template.FuncMap {
	spend := func(pattern, text, replacement string) error {
		compiled, err := regexp.Compile(pattern)
		if err != nil {
			return err
		}
		if err := s.Budget.spendProduct(strings.Count(replacement, "$")+1, len(text)); err != nil {
			return err
		}
		return s.Budget.spendProduct(len(compiled.FindAllStringIndex(text, -1)), len(replacement))
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
