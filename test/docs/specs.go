package docs

import (
	"regexp"
	"strings"
)

var (
	namedSpec = regexp.MustCompile(`(?s)\b[Ss]pec: "([^"]+)"`)
	namedTest = regexp.MustCompile("`(Test[A-Za-z0-9]+)`")
)

// NamedSpecs returns the titles of the specs that a page names: in sentences such as `Spec: "title"`, as test
// functions, and in the last column of tables with the header "spec", separated by semicolons.
func NamedSpecs(page string) []string {
	var titles []string
	for _, match := range namedSpec.FindAllStringSubmatch(page, -1) {
		titles = append(titles, strings.Join(strings.Fields(match[1]), " "))
	}
	for _, match := range namedTest.FindAllStringSubmatch(page, -1) {
		titles = append(titles, match[1])
	}
	inTable := false
	for line := range strings.Lines(page) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		last := strings.TrimSpace(cells[len(cells)-1])
		switch {
		case !strings.HasPrefix(line, "|"):
			inTable = false
		case last == "spec":
			inTable = true
		case inTable && strings.Trim(last, "-") != "":
			for title := range strings.SplitSeq(last, "; ") {
				titles = append(titles, title)
			}
		}
	}
	return titles
}
