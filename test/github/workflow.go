package github

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Workflow is the part of a workflow that Check reads.
type Workflow struct {
	Permissions map[string]string `json:"permissions"`
	Concurrency map[string]any    `json:"concurrency"`
	Jobs        map[string]Job    `json:"jobs"`
}

// Job is a job of a workflow.
type Job struct {
	RunsOn      string            `json:"runs-on"`
	Timeout     any               `json:"timeout-minutes"`
	Permissions map[string]string `json:"permissions"`
	Strategy    struct {
		Matrix struct {
			Include []map[string]any `json:"include"`
		} `json:"matrix"`
	} `json:"strategy"`
	Steps []Step `json:"steps"`
}

// Step is a step of a job: an action or a command.
type Step struct {
	Uses string         `json:"uses"`
	With map[string]any `json:"with"`
	Run  string         `json:"run"`
}

var (
	usesLine = regexp.MustCompile(`(?m)^\s*(?:- )?uses:.*$`)
	// pinned is an action with the full digest of a commit, and the tag of this commit in a comment.
	pinned = regexp.MustCompile(`^\s*(?:- )?uses: [\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
)

// Check returns a sentence for each rule that a workflow breaks. The targets are those of the Makefile.
func Check(content []byte, targets map[string]bool) []string {
	var w Workflow
	if err := yaml.Unmarshal(content, &w); err != nil {
		return []string{err.Error()}
	}
	var found []string
	report := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	if w.Permissions == nil || len(w.Permissions) > 0 {
		report("the workflow must have permissions: {}, and each job the permissions that it needs")
	}
	if len(w.Concurrency) == 0 {
		report("the workflow has no concurrency")
	}
	if strings.Contains(string(content), "pull_request_target") {
		report("pull_request_target runs code of strangers with the rights of the project")
	}
	for _, line := range usesLine.FindAllString(string(content), -1) {
		if !pinned.MatchString(line) {
			report("%s: want the digest of a commit, and the tag in a comment", strings.TrimSpace(line))
		}
	}
	if len(w.Jobs) == 0 {
		report("the workflow has no jobs")
	}
	for _, name := range slices.Sorted(maps.Keys(w.Jobs)) {
		for _, problem := range w.Jobs[name].check(targets) {
			report("job %s: %s", name, problem)
		}
	}
	return found
}

func (j Job) check(targets map[string]bool) []string {
	var found []string
	report := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	if j.RunsOn == "" || strings.HasSuffix(j.RunsOn, "-latest") {
		report("runs-on %q: want a fixed version", j.RunsOn)
	}
	if j.Timeout == nil {
		report("timeout-minutes is missing")
	}
	if j.Permissions == nil {
		report("permissions are missing")
	}
	for _, name := range slices.Sorted(maps.Keys(j.Permissions)) {
		if level := j.Permissions[name]; level != "read" {
			report("permission %s: %s: no job needs more than read", name, level)
		}
	}
	for _, step := range j.Steps {
		if strings.HasPrefix(step.Uses, "actions/checkout@") && step.With["persist-credentials"] != false {
			report("actions/checkout must not keep the token: persist-credentials: false")
		}
		for _, command := range j.commands(step) {
			if problem := checkCommand(command, targets); problem != "" {
				report("run %q: %s", command, problem)
			}
		}
	}
	return found
}

// commands returns the command of a step for each element of the matrix.
func (j Job) commands(step Step) []string {
	if step.Run == "" {
		return nil
	}
	if len(j.Strategy.Matrix.Include) == 0 {
		return []string{step.Run}
	}
	var commands []string
	for _, values := range j.Strategy.Matrix.Include {
		command := step.Run
		for name, value := range values {
			command = strings.ReplaceAll(command, "${{ matrix."+name+" }}", fmt.Sprint(value))
		}
		commands = append(commands, command)
	}
	return commands
}

// checkCommand returns why a command is not a call of make with existing targets, or an empty text.
func checkCommand(command string, targets map[string]bool) string {
	words := strings.Fields(command)
	if len(words) < 2 || words[0] != "make" {
		return "want make with targets, so that a person can run it"
	}
	for _, word := range words[1:] {
		if !targets[word] {
			return "the Makefile has no target " + word
		}
	}
	return ""
}
