package valuetypes

import (
	"slices"
	"strings"
)

// valuePath is the path of a value of a chart. The path of an element of a list or map has the step "[]".
type valuePath string

const (
	anyElement = "[]"
	// separator separates the steps of a path. It is a character that keys do not contain.
	separator = "\x00"
)

func (p valuePath) child(key string) valuePath {
	if p == "" {
		return valuePath(key)
	}
	return p + separator + valuePath(key)
}

func (p valuePath) last() string {
	text := string(p)
	return text[strings.LastIndex(text, separator)+1:]
}

// inElement reports whether the value is in an element of a list or map.
func (p valuePath) inElement() bool {
	return slices.Contains(strings.Split(string(p), separator), anyElement)
}

// String returns the path with dots, such as image.tag.
func (p valuePath) String() string {
	return strings.ReplaceAll(strings.ReplaceAll(string(p), separator+anyElement, anyElement), separator, ".")
}
