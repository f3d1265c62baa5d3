package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
)

// engine is the pattern of the packages whose unit tests have a coverage goal.
const engine = "./pkg/component/internal/..."

// coverageOfEngine runs the unit tests of each package of the engine without a cluster, and returns the statement
// coverage of each package by its own tests. A package whose tests fail has no coverage.
func coverageOfEngine(ctx context.Context, dir string) ([]measure, error) {
	test := exec.CommandContext(ctx, "go", "test", "-short", "-cover", engine)
	test.Dir, test.Stderr = dir, os.Stderr
	out, err := test.Output()
	if failed := (*exec.ExitError)(nil); err != nil && !errors.As(err, &failed) {
		return nil, fmt.Errorf("run the tests of %s: %w", engine, err)
	}
	return []measure{readCoverage(string(out))}, nil
}

var (
	// covered matches the line of a package in the output of go test. The output of the package's tests precedes this
	// line.
	covered = regexp.MustCompile(`(?m)^(\S*)[ \t]+(\S+)\t.*coverage: ([0-9]+)(?:\.[0-9]+)?% of statements`)
	failed  = regexp.MustCompile(`(?m)^FAIL\t(\S+)`)
)

// readCoverage reads the output of go test. The name of a package in the result is its path below pkg/component.
func readCoverage(out string) measure {
	m := measure{
		name:   "statement coverage of each package of the engine by its own tests",
		goal:   "70 %",
		lowest: true,
		every:  true,
	}
	low := 0
	for _, match := range covered.FindAllStringSubmatch(out, -1) {
		percent, err := strconv.Atoi(match[3])
		if err != nil {
			continue
		}
		if percent < 70 {
			low++
		}
		m.places = append(m.places, place{percent, "% " + packageName(match[2])})
	}
	for _, match := range failed.FindAllStringSubmatch(out, -1) {
		m.places = append(m.places, place{0, "% " + packageName(match[1]) + ", its tests fail"})
		low++
	}
	m.summary = fmt.Sprintf("%d of %d packages under 70 %%", low, len(m.places))
	return m
}

func packageName(path string) string {
	_, below, found := strings.Cut(path, "/pkg/component/")
	if !found {
		return path
	}
	return below
}
