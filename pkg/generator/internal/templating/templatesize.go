package templating

import (
	"fmt"
	"strings"
)

// Limits of the text of templates. text/template parses and executes nested actions recursively, and a stack overflow
// ends the process. A word of a template takes up to a kilobyte after it is parsed.
const (
	maxActionDepth   = 1000
	maxTemplateWords = 400_000
)

// templateScanner counts the words in the actions of templates, and the depth of nested actions.
type templateScanner struct {
	text        string
	left, right string
	at          int
	words       int
	// open contains a number for each open action: the action itself, and each "else if" and "else with" of it. depth is
	// their sum, and parentheses is the number of open parentheses in the current action.
	open               []int
	depth, parentheses int
}

// checkTemplate returns the number of words in a template, and an error if the actions of the template nest too deeply.
// An invalid template is no error here; the parser reports it.
func checkTemplate(name, text string, d Delimiters) (int, error) {
	s := templateScanner{text: text, left: d.Left, right: d.Right}
	if s.left == "" {
		s.left = "{{"
	}
	if s.right == "" {
		s.right = "}}"
	}
	for {
		start := strings.Index(s.text[s.at:], s.left)
		if start < 0 {
			return s.words, nil
		}
		s.at += start + len(s.left)
		if !s.action() {
			return s.words, nil
		}
		if s.depth+s.parentheses > maxActionDepth {
			line := strings.Count(text[:s.at], "\n") + 1
			return s.words, fmt.Errorf("template: %s:%d: %w", name, line,
				&limitError{fmt.Sprintf("actions nest more than %d deep", maxActionDepth)})
		}
	}
}

// action reads an action. It returns false if the template ends in it, or if a limit is exceeded.
func (s *templateScanner) action() bool {
	if isComment, ends := s.comment(); isComment {
		return ends
	}
	s.parentheses = 0
	words := 0
	isElse := false
	for s.at < len(s.text) {
		switch c := s.text[s.at]; {
		case s.ends():
			return true
		case c == '"' || c == '\'' || c == '`':
			s.words++
			if !s.quoted(c) {
				return false
			}
		case isWord(c):
			word := s.word()
			if words == 0 || words == 1 && isElse {
				isElse = s.keyword(word, isElse)
			}
			words++
		default:
			s.character(c)
			if s.depth+s.parentheses > maxActionDepth {
				return true
			}
		}
	}
	return false
}

// comment skips the white space marker at the beginning of an action, and a comment. It reports whether there is a
// comment, and whether it ends.
func (s *templateScanner) comment() (isComment, ends bool) {
	rest := s.text[s.at:]
	if len(rest) > 1 && rest[0] == '-' && isSpace(rest[1]) {
		s.at += 2
		rest = rest[2:]
	}
	if !strings.HasPrefix(rest, "/*") {
		return false, false
	}
	end := strings.Index(rest, "*/")
	s.at += max(end, 0)
	return true, end >= 0
}

// character skips a character that is no part of a word.
func (s *templateScanner) character(c byte) {
	s.at++
	switch {
	case c == '(':
		s.parentheses++
	case c == ')':
		s.parentheses--
	case !isSpace(c):
		s.words++
	}
}

// ends skips the end of the action, if it is here.
func (s *templateScanner) ends() bool {
	rest := s.text[s.at:]
	if len(rest) > 1 && isSpace(rest[0]) && rest[1] == '-' && strings.HasPrefix(rest[2:], s.right) {
		rest = rest[2:]
		s.at += 2
	}
	if !strings.HasPrefix(rest, s.right) {
		return false
	}
	s.at += len(s.right)
	return true
}

// quoted skips a string or a character. It returns false if it does not end.
func (s *templateScanner) quoted(quote byte) bool {
	for s.at++; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; {
		case c == quote:
			s.at++
			return true
		case c == '\n' && quote != '`':
			return false
		case c == '\\' && quote != '`':
			s.at++
		}
	}
	return false
}

// word skips a word and returns it.
func (s *templateScanner) word() string {
	start := s.at
	for s.at < len(s.text) && isWord(s.text[s.at]) {
		s.at++
	}
	s.words++
	return s.text[start:s.at]
}

// keyword counts the first word of an action, and the word after else. It reports whether the word is else.
func (s *templateScanner) keyword(word string, afterElse bool) bool {
	last := len(s.open) - 1
	switch word {
	case "if", "with", "range", "define", "block":
		s.depth++
		if afterElse && last >= 0 {
			s.open[last]++
		} else {
			s.open = append(s.open, 1)
		}
	case "end":
		if last >= 0 {
			s.depth -= s.open[last]
			s.open = s.open[:last]
		}
	case "else":
		return true
	}
	return false
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// isWord reports whether a byte is part of a word. All bytes of letters beyond ASCII are.
func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c >= 0x80
}
