package valuetypes

import (
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// commentOf returns the comment of an entry in values.yaml: the comment above the entry, or the comment in its line.
func commentOf(p pair) string {
	if text := paragraph(p.key.HeadComment); text != "" {
		return text
	}
	if text := paragraph(p.value.LineComment); text != "" {
		return text
	}
	return paragraph(p.key.LineComment)
}

// described matches a description in the form of Bitnami's charts: ## @param image.tag [string] Description
var described = regexp.MustCompile(`(?m)^[ \t]*#+[ \t]*@param[ \t]+(\S+)[ \t]+(?:\[[^\]]*\][ \t]*)?(.*)$`)

func descriptionsIn(values string) map[valuePath]string {
	found := map[valuePath]string{}
	for _, match := range described.FindAllStringSubmatch(values, -1) {
		path := valuePath(strings.ReplaceAll(match[1], ".", "\x00"))
		found[path] = strings.TrimSpace(match[2])
	}
	return found
}

// paragraph returns the last paragraph of a comment, without annotations for tools. Two hyphens mark the start of the
// text, as in helm-docs.
func paragraph(comment string) string {
	var lines []string
	inBlock := false
	for line := range strings.Lines(comment) {
		text := strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), "#"))
		switch {
		case text == "@schema":
			inBlock = !inBlock
		case inBlock || strings.HasPrefix(text, "@"):
		case text == "":
			lines = nil
		case strings.HasPrefix(text, "-- "):
			lines = []string{strings.TrimSpace(text[3:])}
		case isRule(text):
			lines = nil
		default:
			lines = append(lines, text)
		}
	}
	return strings.Join(lines, "\n")
}

// isRule reports whether a line is a separator, such as a row of hyphens.
func isRule(text string) bool { return len(text) > 2 && strings.Trim(text, "-=#*~ ") == "" }

// describe returns the lines of a value's description. A description in the schema has precedence over comments.
func (d *deriver) describe(s subject, comment string) []string {
	text := comment
	if documented, ok := d.documented[s.path]; ok {
		text = documented
	}
	if schema := s.schema.resolve(d.root); schema != nil {
		if schema.Description != "" {
			text = schema.Description
		} else if text == "" {
			text = schema.Title
		}
	}
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, wrap(harmless(strings.TrimRight(line, " \t\r\n")))...)
	}
	return lines
}

// harmless changes a line that controller-gen would interpret as a marker or as the end of the description.
func harmless(line string) string {
	trimmed := strings.TrimLeft(line, " \t")
	if strings.HasPrefix(trimmed, "+") || strings.HasPrefix(trimmed, "---") {
		return "· " + trimmed
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' || r == '\u2028' || r == '\u2029' {
			return -1
		}
		return r
	}, line)
}

// maxLine is the maximum length of a line of a comment.
const maxLine = 130

// wrap breaks a line between words.
func wrap(line string) []string {
	var lines []string
	var current string
	for word := range strings.FieldsSeq(line) {
		if current != "" && len(current)+1+len(word) > maxLine {
			lines, current = append(lines, current), ""
		}
		if current != "" {
			current += " "
		}
		current += word
	}
	return append(lines, current)
}

// document returns the mapping in a values.yaml, or nil if the file is empty.
func document(text []byte) (*yaml.Node, error) {
	var parsed yaml.Node
	if err := yaml.Unmarshal(text, &parsed); err != nil {
		return nil, err
	}
	if len(parsed.Content) == 0 {
		return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}, nil
	}
	return parsed.Content[0], nil
}
