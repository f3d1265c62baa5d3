package holes

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/internal/expression"
)

// The marks of a hole in a text.
const (
	holeBegin = "${{"
	holeEnd   = "}}"
)

// Max is the maximum number of holes of an object.
const Max = 256

// ErrTooMany is the error of an object with more than Max holes.
var ErrTooMany = fmt.Errorf("it has more than %d holes", Max)

// Part is a part of a text: an expression, or, if program is nil, a literal text.
type Part struct {
	literal string
	program *expression.Program
}

// parseHoles parses a text into literal texts and holes. It returns nil if the text contains no hole. The budget bounds
// the expressions. With an error, it returns the parts before the hole that is not valid.
func parseHoles(text string, scope expression.Scope, budget *expression.Budget) ([]Part, error) {
	var parts []Part
	for rest := text; ; {
		before, after, found := strings.Cut(rest, holeBegin)
		if !found {
			if len(parts) > 0 && rest != "" {
				parts = append(parts, Part{literal: rest})
			}
			return parts, nil
		}
		end, err := endOfHole(after)
		if err != nil {
			return parts, err
		}
		if Count(parts) > Max {
			return parts, ErrTooMany
		}
		source := strings.TrimSpace(after[:end])
		if err := budget.Spend(source); err != nil {
			return parts, err
		}
		program, err := expression.Compile(source, scope)
		if err != nil {
			return parts, err
		}
		if before != "" {
			parts = append(parts, Part{literal: before})
		}
		parts = append(parts, Part{program: program})
		rest = after[end+len(holeEnd):]
	}
}

// Count returns the number of parts that are expressions.
func Count(parts []Part) int {
	count := 0
	for _, part := range parts {
		if part.program != nil {
			count++
		}
	}
	return count
}

// withoutText returns an error of parseHoles that does not quote the text, which belongs to a Secret. parts are the
// parts before the hole that is not valid.
func withoutText(parts []Part, err error) error {
	if errors.Is(err, ErrTooMany) || errors.Is(err, expression.ErrBudget) {
		return err
	}
	number := 1
	for _, p := range parts {
		if p.program != nil {
			number++
		}
	}
	return fmt.Errorf("hole %d of the text is not valid; the reason may quote the Secret, and is not shown; check that "+
		"the hole ends with %s, the syntax of its expression, and the names of the exports", number, holeEnd)
}

// endOfHole returns the position of the end mark of a hole, outside of quotes and braces of its expression.
func endOfHole(text string) (int, error) {
	depth := 0
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '"' || c == '\'':
			end := expression.EndOfQuote(text, i)
			if end < 0 {
				return 0, fmt.Errorf("the quote %c in the hole %.80q is not closed", c, holeBegin+text)
			}
			i = end
			continue
		case c == '{':
			depth++
		case c == '}' && depth > 0:
			depth--
		case strings.HasPrefix(text[i:], holeEnd):
			return i, nil
		}
		i++
	}
	return 0, fmt.Errorf("the hole %.80q is not closed by %s", holeBegin+text, holeEnd)
}

// Fill returns the value of a parsed text. The value of a text that is one hole keeps its type, unless asText is set.
// Otherwise the values are converted to texts, and concatenated.
func Fill(ctx context.Context, parts []Part, values map[string]any, asText bool) (any, error) {
	if len(parts) == 1 && !asText {
		return parts[0].value(ctx, values)
	}
	var b strings.Builder
	for _, p := range parts {
		if p.program == nil {
			b.WriteString(p.literal)
			continue
		}
		value, err := p.value(ctx, values)
		if err != nil {
			return nil, err
		}
		text, err := toText(value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.program, err)
		}
		b.WriteString(text)
	}
	return b.String(), nil
}

// ErrNoValue is the error of a hole whose expression has no value yet.
var ErrNoValue = errors.New("it has no value yet")

func (h Part) value(ctx context.Context, values map[string]any) (any, error) {
	used := map[string]any{}
	for _, name := range h.program.Variables() {
		used[name] = values[name]
	}
	value, err := h.program.Value(ctx, used)
	switch {
	case expression.IsMissing(err), err == nil && value == nil:
		return nil, fmt.Errorf("%s: %w", h.program, ErrNoValue)
	}
	return value, err
}

// toText returns the text of a JSON value that is a part of a longer text.
func toText(value any) (string, error) {
	switch v := value.(type) {
	case string:
		return v, nil
	case bool:
		return strconv.FormatBool(v), nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return strconv.FormatFloat(v, 'f', -1, 64), nil
		}
		return strconv.FormatFloat(v, 'g', -1, 64), nil
	}
	return "", errors.New("the value is a list or an object, which can only be the whole value of a field")
}

// mapTexts returns a copy of a JSON value in which the function has replaced the texts.
func mapTexts(value any, at Place, replace func(Place, string) (any, error)) (any, error) {
	switch v := value.(type) {
	case string:
		return replace(at, v)
	case map[string]any:
		mapped := make(map[string]any, len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			var err error
			if mapped[key], err = mapTexts(v[key], append(slices.Clip(at), key), replace); err != nil {
				return nil, err
			}
		}
		return mapped, nil
	case []any:
		mapped := make([]any, len(v))
		for i := range v {
			var err error
			if mapped[i], err = mapTexts(v[i], append(slices.Clip(at), strconv.Itoa(i)), replace); err != nil {
				return nil, err
			}
		}
		return mapped, nil
	}
	return value, nil
}

// Map returns a copy of a manifest in which the function has replaced the texts with holes. The data of Secrets
// is decoded before, and encoded afterwards. The budget bounds the expressions of the holes; nil for holes that were
// checked before.
func Map(
	body map[string]any, gk schema.GroupKind, scope expression.Scope, budget *expression.Budget,
	replace func(at Place, parts []Part) (any, error),
) (map[string]any, error) {
	mapped, err := mapTexts(body, nil, func(at Place, text string) (any, error) {
		plain := text
		if at.IsEncoded(gk) {
			// Data that is not base64 was refused before.
			decoded, _ := base64.StdEncoding.DecodeString(text)
			plain = string(decoded)
		}
		if !strings.Contains(plain, holeBegin) {
			return text, nil
		}
		parts, err := parseHoles(plain, scope, budget)
		if err != nil && gk == secret {
			err = withoutText(parts, err)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
		value, err := replace(at, parts)
		if filled, ok := value.(string); ok && at.IsEncoded(gk) {
			value = base64.StdEncoding.EncodeToString([]byte(filled))
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
		return value, nil
	})
	if err != nil {
		return nil, err
	}
	object, _ := mapped.(map[string]any)
	return object, nil
}

// Variables returns the names of the exports that a text uses, in ascending order.
func Variables(parts []Part) []string {
	var names []string
	for _, p := range parts {
		if p.program != nil {
			names = append(names, p.program.Variables()...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Paths returns the paths of the texts with holes in a manifest. The indexes of lists are left out.
func Paths(body map[string]any, gk schema.GroupKind) [][]string {
	var paths [][]string
	_, _ = mapTexts(body, nil, func(at Place, text string) (any, error) {
		plain := text
		if at.IsEncoded(gk) {
			decoded, _ := base64.StdEncoding.DecodeString(text)
			plain = string(decoded)
		}
		if strings.Contains(plain, holeBegin) {
			paths = append(paths, slices.DeleteFunc(slices.Clone(at), isIndex))
		}
		return text, nil
	})
	return paths
}

// Null returns a copy of a JSON value with null in the place of each text that has a hole, and whether there is
// such a text.
func Null(value any) (known any, partial bool, err error) {
	known, err = mapTexts(value, nil, func(_ Place, text string) (value any, _ error) {
		if !strings.Contains(text, holeBegin) {
			return text, nil
		}
		partial = true
		return value, nil
	})
	return known, partial, err
}
