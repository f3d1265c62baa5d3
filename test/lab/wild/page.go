package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// migrationPage is the page whose commands migrate a chart.
var migrationPage = filepath.Join("docs", "how-to", "migrate-from-helm.md")

// The sections of the page whose commands are run, by the beginnings of their headings.
var (
	sectionsThere = []string{"1.", "2.", "3."}
	sectionsBack  = []string{"Back"}
)

// The release and the folder of the chart in the commands of the page.
var (
	exampleFolder  = regexp.MustCompile(`\./shop\b`)
	exampleRelease = regexp.MustCompile(`\bshop\b`)
)

// migrationCommands are the commands of the page: those that hand a release over to Fairlead, and those that hand the
// component back to Helm.
type migrationCommands struct{ there, back string }

func readMigrationCommands() (migrationCommands, error) {
	page, err := os.ReadFile(migrationPage)
	if err != nil {
		return migrationCommands{}, fmt.Errorf("%w; run this from the project's root", err)
	}
	commands := migrationCommands{
		there: commandsOf(string(page), sectionsThere), back: commandsOf(string(page), sectionsBack),
	}
	if commands.there == "" || commands.back == "" {
		return migrationCommands{}, errors.New(migrationPage + " has no commands there, or none back")
	}
	return commands, nil
}

// commandsOf returns the commands in the blocks "sh" of the sections of a page. A section is given by the beginning of
// its heading. Comments are no commands.
func commandsOf(page string, sections []string) string {
	var commands strings.Builder
	wanted, inBlock := false, false
	for line := range strings.Lines(page) {
		heading, isHeading := strings.CutPrefix(line, "## ")
		switch {
		case isHeading:
			wanted = false
			for _, section := range sections {
				wanted = wanted || strings.HasPrefix(heading, section)
			}
		case strings.HasPrefix(line, "```"):
			inBlock = strings.TrimSpace(line) == "```sh"
		case wanted && inBlock:
			commands.WriteString(line)
		}
	}
	return commands.String()
}

// forChart replaces the example of the page by the release and the folder of a chart.
func forChart(commands string, c chart) string {
	commands = exampleFolder.ReplaceAllLiteralString(commands, c.folder)
	return exampleRelease.ReplaceAllLiteralString(commands, c.Release)
}
