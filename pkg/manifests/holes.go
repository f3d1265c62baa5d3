package manifests

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

// maxHoles is the maximum number of holes of an object.
const maxHoles = 256

var errTooManyHoles = fmt.Errorf("it has more than %d holes", maxHoles)

// hole is a part of a text: an expression, or, if program is nil, a literal text.
type hole struct {
	literal string
	program *expression.Program
}

// parseHoles parses a text into literal texts and holes. It returns nil if the text has no hole. The budget bounds the
// expressions. With an error, it returns the parts before the hole that is not valid.
func parseHoles(text string, scope expression.Scope, budget *expressionBudget) ([]hole, error) {
	var parts []hole
	for rest := text; ; {
		before, after, found := strings.Cut(rest, holeBegin)
		if !found {
			if len(parts) > 0 && rest != "" {
				parts = append(parts, hole{literal: rest})
			}
			return parts, nil
		}
		end, err := endOfHole(after)
		if err != nil {
			return parts, err
		}
		if countHoles(parts) > maxHoles {
			return parts, errTooManyHoles
		}
		source := strings.TrimSpace(after[:end])
		if err := budget.spend(source); err != nil {
			return parts, err
		}
		program, err := expression.Compile(source, scope)
		if err != nil {
			return parts, err
		}
		if before != "" {
			parts = append(parts, hole{literal: before})
		}
		parts = append(parts, hole{program: program})
		rest = after[end+len(holeEnd):]
	}
}

// countHoles returns the number of parts that are expressions.
func countHoles(parts []hole) int {
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
func withoutText(parts []hole, err error) error {
	if errors.Is(err, errTooManyHoles) || errors.Is(err, errTooManyExpressions) {
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
			end := endOfQuote(text, i)
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

// fill returns the value of a parsed text. The value of a text that is one hole keeps its type, unless asText is set.
// Otherwise the values are converted to texts, and concatenated.
func fill(ctx context.Context, parts []hole, values map[string]any, asText bool) (any, error) {
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

// errNoValue is the error of a hole whose expression has no value yet.
var errNoValue = errors.New("it has no value yet")

func (h hole) value(ctx context.Context, values map[string]any) (any, error) {
	used := map[string]any{}
	for _, name := range h.program.Variables() {
		used[name] = values[name]
	}
	value, err := h.program.Value(ctx, used)
	switch {
	case expression.IsMissing(err), err == nil && value == nil:
		return nil, fmt.Errorf("%s: %w", h.program, errNoValue)
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

// place is the position of a text in a manifest.
type place []string

func (p place) String() string { return strings.Join(p, ".") }

// isText reports whether Kubernetes permits only texts at the place: the values of labels and annotations, also of pod
// templates; the data of ConfigMaps and Secrets; the commands, arguments and variables of containers.
func (p place) isText(gk schema.GroupKind) bool {
	n := len(p)
	switch {
	case n >= 3 && p[n-3] == "metadata":
		return p[n-2] == "labels" || p[n-2] == "annotations"
	case n == 2 && gk.Group == "" && (gk.Kind == "ConfigMap" || gk.Kind == "Secret"):
		return p[0] == "data" || p[0] == "binaryData"
	case n >= 4 && containerLists[p[n-4]]:
		return p[n-2] == "command" || p[n-2] == "args"
	case n >= 5 && containerLists[p[n-5]]:
		return p[n-3] == "env" && p[n-1] == "value"
	}
	return false
}

// containerLists are the fields with the containers of a pod.
var containerLists = map[string]bool{"containers": true, "initContainers": true}

// isEncoded reports whether the texts at the place are encoded with base64.
func (p place) isEncoded(gk schema.GroupKind) bool {
	return len(p) == 2 && p[0] == "data" && gk == secretKind
}

var secretKind = schema.GroupKind{Kind: "Secret"}

// IsSecret reports whether a key is the key of a Secret.
func IsSecret(key Key) bool { return key.GroupKind() == secretKind }

// mapTexts returns a copy of a JSON value in which the function has replaced the texts.
func mapTexts(value any, at place, replace func(place, string) (any, error)) (any, error) {
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

// mapHoles returns a copy of a manifest in which the function has replaced the texts with holes. The data of Secrets
// is decoded before, and encoded afterwards. The budget bounds the expressions of the holes; nil for holes that were
// checked before.
func mapHoles(
	body map[string]any, gk schema.GroupKind, scope expression.Scope, budget *expressionBudget,
	replace func(at place, parts []hole) (any, error),
) (map[string]any, error) {
	mapped, err := mapTexts(body, nil, func(at place, text string) (any, error) {
		plain := text
		if at.isEncoded(gk) {
			// Data that is not base64 was refused before.
			decoded, _ := base64.StdEncoding.DecodeString(text)
			plain = string(decoded)
		}
		if !strings.Contains(plain, holeBegin) {
			return text, nil
		}
		parts, err := parseHoles(plain, scope, budget)
		if err != nil && gk == secretKind {
			err = withoutText(parts, err)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
		value, err := replace(at, parts)
		if filled, ok := value.(string); ok && at.isEncoded(gk) {
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

// HolePaths returns the paths of the texts with holes in the manifest of an object that binds values. The indexes of
// lists are left out. The object must be whole; see Whole.
func (o Object) HolePaths() [][]string {
	if !o.Settings.Binds() {
		return nil
	}
	var paths [][]string
	gk := o.Key.GroupKind()
	_, _ = mapTexts(o.Body.Object, nil, func(at place, text string) (any, error) {
		plain := text
		if at.isEncoded(gk) {
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

// isIndex reports whether a part of a place is an index of a list. A field whose name is a number counts as one.
func isIndex(part string) bool {
	_, err := strconv.Atoi(part)
	return err == nil
}
