package fieldpath

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Limits of paths.
const (
	// MaxPaths is the maximum number of paths of an object, and of a rule.
	MaxPaths = 32
	// MaxLength is the maximum length of a path, in bytes.
	MaxLength = 512
	// MaxSteps is the maximum number of steps of a path.
	MaxSteps = 32
)

// Path locates fields of an object. The zero value locates nothing.
type Path struct{ steps []step }

// step selects a field of a map, or items of a list. Exactly one of the fields is set.
type step struct {
	// name is the name of a field. If the name was written in brackets, it also selects the item of a list with this
	// name, as in containers[web].
	name string
	// item contains the merge keys of an item, with their values as texts.
	item map[string]string
	// all selects every field of a map, or every item of a list.
	all bool
	// bracket is set if the name was written in brackets.
	bracket bool
}

var (
	plainName  = regexp.MustCompile(`^[A-Za-z0-9_$-]+$`)
	digitsOnly = regexp.MustCompile(`^-?[0-9]+$`)
)

// Parse parses a path. An error names the path and what is wrong with it.
func Parse(text string) (Path, error) {
	fail := func(format string, args ...any) (Path, error) {
		return Path{}, fmt.Errorf("path %q: "+format, append([]any{shortened(text)}, args...)...)
	}
	if len(text) > MaxLength {
		return fail("it has %d bytes; at most %d are allowed", len(text), MaxLength)
	}
	rest := strings.TrimPrefix(text, ".")
	if rest == "" {
		return fail("it is empty; want a path such as spec.replicas")
	}
	var p Path
	for first := true; rest != ""; first = false {
		var s step
		var err error
		if inner, ok := strings.CutPrefix(rest, "["); ok && !first {
			s, rest, err = parseBracket(inner)
		} else {
			if !first {
				if rest, ok = strings.CutPrefix(rest, "."); !ok {
					return fail("want a dot or a bracket before %q", rest)
				}
			}
			s, rest, err = parseName(rest)
		}
		if err != nil {
			return fail("%w", err)
		}
		if p.steps = append(p.steps, s); len(p.steps) > MaxSteps {
			return fail("it has more than %d steps", MaxSteps)
		}
	}
	if err := p.checkKeys(); err != nil {
		return fail("%w", err)
	}
	return p, nil
}

// shortened returns a text that is short enough for a message.
func shortened(text string) string {
	const most = 80
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}

func parseName(text string) (s step, rest string, err error) {
	end := strings.IndexAny(text, ".[")
	if end < 0 {
		end = len(text)
	}
	name := text[:end]
	switch {
	case name == "":
		return step{}, "", errors.New("a name is missing; want a path such as spec.replicas")
	case name == "*":
		return step{}, "", errors.New("write a star in brackets: [*]")
	case !plainName.MatchString(name):
		return step{}, "", fmt.Errorf("write the name %q in brackets and quotes: [%q]", name, name)
	}
	return step{name: name}, text[end:], nil
}

// parseBracket parses the text after an opening bracket.
func parseBracket(text string) (s step, rest string, err error) {
	parts, rest, err := splitBracket(text)
	if err != nil {
		return step{}, "", err
	}
	if len(parts) == 1 && !parts[0].assigned {
		switch value := parts[0].value; {
		case value == "":
			return step{}, "", errors.New("a bracket is empty")
		case value == "*" && !parts[0].quoted:
			return step{all: true}, rest, nil
		case digitsOnly.MatchString(value) && !parts[0].quoted:
			return step{}, "", fmt.Errorf(
				"[%s] is a position, which another client may change; select the item by its key, such as "+
					"[name=web], or all items by [*]", value)
		default:
			return step{name: value, bracket: true}, rest, nil
		}
	}
	s.item = map[string]string{}
	for _, part := range parts {
		if !part.assigned || !plainName.MatchString(part.key) {
			return step{}, "", errors.New("want [name=value], or several of them separated by commas, in a bracket")
		}
		if _, twice := s.item[part.key]; twice {
			return step{}, "", fmt.Errorf("a bracket has the key %q twice", part.key)
		}
		s.item[part.key] = part.value
	}
	return s, rest, nil
}

// part is an element of a bracket: value, or key=value.
type part struct {
	key, value       string
	assigned, quoted bool
}

// splitBracket splits the text up to the closing bracket into its elements, and returns the text after the bracket.
func splitBracket(text string) (parts []part, rest string, err error) {
	rest = text
	for {
		var p part
		if p, rest, err = nextPart(rest); err != nil {
			return nil, "", err
		}
		parts = append(parts, p)
		switch {
		case strings.HasPrefix(rest, "]"):
			return parts, rest[1:], nil
		case strings.HasPrefix(rest, ","):
			rest = rest[1:]
		default:
			return nil, "", errors.New("a bracket is not closed")
		}
	}
}

// nextPart parses one element of a bracket. The returned rest begins with a comma or a closing bracket.
func nextPart(text string) (p part, rest string, err error) {
	if strings.HasPrefix(text, "?") {
		return part{}, "", errors.New("a filter [?(...)] is not supported; select an item by its key, such as [name=web]")
	}
	if !isQuote(text) {
		if end := strings.IndexAny(text, "=,]"); end >= 0 && text[end] == '=' {
			p.key, p.assigned, text = strings.TrimSpace(text[:end]), true, text[end+1:]
		}
	}
	if isQuote(text) {
		p.quoted = true
		value, after, closed := strings.Cut(text[1:], text[:1])
		if !closed {
			return part{}, "", errors.New("a quote is not closed")
		}
		p.value, rest = value, after
		return p, rest, nil
	}
	end := strings.IndexAny(text, ",]")
	if end < 0 {
		return part{}, "", errors.New("a bracket is not closed")
	}
	p.value, rest = strings.TrimSpace(text[:end]), text[end:]
	if strings.ContainsAny(p.value, `"'[=?@`) {
		return part{}, "", fmt.Errorf("%q in a bracket must be in quotes", p.value)
	}
	return p, rest, nil
}

func isQuote(text string) bool { return text != "" && (text[0] == '"' || text[0] == '\'') }

// checkKeys returns an error if the path ends at a key by which it selects an item: the item would become another item.
func (p Path) checkKeys() error {
	for i := 1; i < len(p.steps); i++ {
		key := p.steps[i].name
		if _, isKey := p.steps[i-1].item[key]; isKey && key != "" {
			return fmt.Errorf("%s identifies the item of the list, so it cannot be ignored", key)
		}
	}
	return nil
}

// ParseList parses paths that are separated by commas or lines. Commas in brackets and quotes do not separate. The
// returned error joins the errors of all paths; the valid paths are returned with it.
func ParseList(text string) ([]Path, error) {
	texts := splitList(text)
	if len(texts) > MaxPaths {
		return nil, fmt.Errorf("it has %d paths; at most %d are allowed", len(texts), MaxPaths)
	}
	if len(texts) == 0 {
		return nil, errors.New("it has no path; want a path such as spec.replicas")
	}
	var paths []Path
	var errs []error
	for _, t := range texts {
		p, err := Parse(t)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		paths = append(paths, p)
	}
	return paths, errors.Join(errs...)
}

// splitList splits a list, without surrounding space, and without a separator at the end.
func splitList(text string) []string {
	var texts []string
	for rest := text; ; {
		end := endOfElement(rest)
		texts = append(texts, strings.TrimSpace(rest[:end]))
		if end == len(rest) {
			break
		}
		rest = rest[end+1:]
	}
	lines := slices.DeleteFunc(slices.Clone(texts), func(t string) bool { return t == "" })
	oneLine := !strings.Contains(text, "\n") && !strings.HasSuffix(strings.TrimSpace(text), ",")
	if len(lines) > 0 && len(lines) < len(texts) && oneLine {
		// An empty element between two commas is a mistake.
		return texts
	}
	return lines
}

// endOfElement returns the index of the comma or the end of the line that ends the first element of a list, or the
// length of the text.
func endOfElement(text string) int {
	quote, bracket := byte(0), false
	for i := range len(text) {
		switch c := text[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\n', c == ',' && !bracket:
			return i
		case bracket && (c == '"' || c == '\''):
			quote = c
		case c == '[' || c == ']':
			bracket = c == '['
		}
	}
	return len(text)
}

// String returns the path in a form that Parse accepts.
func (p Path) String() string {
	var text strings.Builder
	for i, s := range p.steps {
		switch {
		case s.all:
			text.WriteString("[*]")
		case s.item != nil:
			text.WriteString("[" + s.describeItem() + "]")
		case s.bracket:
			text.WriteString("[" + quoted(s.name) + "]")
		case i == 0:
			text.WriteString(s.name)
		default:
			text.WriteString("." + s.name)
		}
	}
	return text.String()
}

func (s step) describeItem() string {
	var keys []string
	for key, value := range s.item {
		keys = append(keys, key+"="+quoted(value))
	}
	slices.Sort(keys)
	return strings.Join(keys, ",")
}

// quoted returns a value in quotes. A value never has both kinds of quotes, because Parse knows no escapes.
func quoted(value string) string {
	if strings.Contains(value, `"`) {
		return "'" + value + "'"
	}
	return `"` + value + `"`
}

// Names returns the leading names of the path, up to the first item of a list or star. A name in brackets counts.
func (p Path) Names() []string {
	var names []string
	for _, s := range p.steps {
		if s.name == "" {
			break
		}
		names = append(names, s.name)
	}
	return names
}

// Len returns the number of the steps.
func (p Path) Len() int { return len(p.steps) }
