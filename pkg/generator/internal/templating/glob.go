package templating

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// maxGlob is the maximum length of a pattern for paths, in bytes.
const maxGlob = 1000

// Glob returns a function that reports whether a path matches a pattern. * and ? match characters except the slash, **
// matches all characters. [ab] and [a-z] match a character, and [!ab] and [!a-z] match any other character. {a,b}
// matches each of the alternatives, which are patterns. A backslash quotes the next character. These are the patterns
// of Helm. The time of a match is proportional to the length of the path, for each pattern.
func Glob(pattern string) (matches func(name string) bool, err error) {
	if len(pattern) > maxGlob {
		return nil, fmt.Errorf("the pattern %.40q is longer than %d bytes", pattern, maxGlob)
	}
	if !utf8.ValidString(pattern) {
		return nil, fmt.Errorf("the pattern %q is not valid UTF-8", pattern)
	}
	p := globParser{rest: []rune(pattern)}
	if err := p.parse(); err != nil {
		return nil, err
	}
	compiled, err := regexp.Compile(`(?s)^(?:` + p.expression.String() + `)$`)
	if err != nil {
		return nil, fmt.Errorf("the pattern %.40q is too large: %w", pattern, err)
	}
	return compiled.MatchString, nil
}

// globParser translates a pattern to a regular expression.
type globParser struct {
	rest       []rune
	expression strings.Builder
	// depth is the number of open braces.
	depth int
}

func (p *globParser) next() rune {
	r := p.rest[0]
	p.rest = p.rest[1:]
	return r
}

func (p *globParser) parse() error {
	for len(p.rest) > 0 {
		switch r := p.next(); {
		case r == '*':
			p.stars()
		case r == '?':
			p.expression.WriteString(`[^/]`)
		case r == '[':
			if err := p.class(); err != nil {
				return err
			}
		case r == '{':
			p.depth++
			p.expression.WriteString(`(?:`)
		case r == ',' && p.depth > 0:
			p.expression.WriteString(`|`)
		case r == '}' && p.depth > 0:
			p.depth--
			p.expression.WriteString(`)`)
		case r != '\\':
			p.literal(r)
		case len(p.rest) > 0:
			p.literal(p.next())
		}
	}
	// As in Helm, the end of the pattern closes open braces.
	p.expression.WriteString(strings.Repeat(")", p.depth))
	return nil
}

// stars translates * and **, after the first star. Only ** matches a slash.
func (p *globParser) stars() {
	if len(p.rest) > 0 && p.rest[0] == '*' {
		p.next()
		p.expression.WriteString(`.*`)
		return
	}
	p.expression.WriteString(`[^/]*`)
}

func (p *globParser) literal(r rune) { p.expression.WriteString(regexp.QuoteMeta(string(r))) }

// class translates a class of characters, after its opening bracket: a list of characters, or a single range.
func (p *globParser) class() error {
	open := `[`
	if len(p.rest) > 0 && p.rest[0] == '!' {
		p.next()
		open = `[^`
	}
	if len(p.rest) >= 4 && p.rest[1] == '-' && p.rest[3] == ']' && p.rest[0] <= p.rest[2] {
		_, _ = fmt.Fprintf(&p.expression, `%s\x{%x}-\x{%x}]`, open, p.rest[0], p.rest[2])
		p.rest = p.rest[4:]
		return nil
	}
	if len(p.rest) >= 2 && p.rest[1] == '-' {
		return errors.New("a range of characters in brackets must be a single one, such as [a-z]")
	}
	var members strings.Builder
	for len(p.rest) > 0 {
		r := p.next()
		if r == ']' {
			break
		}
		if r == '\\' && len(p.rest) > 0 {
			r = p.next()
		}
		_, _ = fmt.Fprintf(&members, `\x{%x}`, r)
		if len(p.rest) == 0 {
			return errors.New("a bracket is not closed")
		}
	}
	if members.Len() == 0 {
		return errors.New("brackets without characters")
	}
	p.expression.WriteString(open + members.String() + `]`)
	return nil
}
