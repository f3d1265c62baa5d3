package valuetypes

import (
	"slices"
	"strings"
)

// valuePath says where a value is among the values of a chart; elements of lists and maps are "[]".
type valuePath string

const (
	anyElement = "[]"
	// separator is in no key.
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

// inElement says whether the value is an element of a list or a map, or part of one.
func (p valuePath) inElement() bool {
	return slices.Contains(strings.Split(string(p), separator), anyElement)
}

// String is how a person writes the path.
func (p valuePath) String() string {
	return strings.ReplaceAll(strings.ReplaceAll(string(p), separator+anyElement, anyElement), separator, ".")
}
