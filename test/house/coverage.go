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

// rooms are the packages whose own unit tests have a goal.
const rooms = "./pkg/component/internal/..."

// coverageOfRooms runs the unit tests of each room, which need no cluster, and returns the statement coverage of each
// by its own tests. A room whose tests fail has none.
func coverageOfRooms(ctx context.Context, dir string) ([]measure, error) {
	test := exec.CommandContext(ctx, "go", "test", "-short", "-cover", rooms)
	test.Dir, test.Stderr = dir, os.Stderr
	out, err := test.Output()
	if failed := (*exec.ExitError)(nil); err != nil && !errors.As(err, &failed) {
		return nil, fmt.Errorf("run the tests of %s: %w", rooms, err)
	}
	return []measure{readCoverage(string(out))}, nil
}

var (
	// covered is in the line of a package in the output of go test. The package and its tests' result come before it.
	covered = regexp.MustCompile(`(?m)^(\S*)[ \t]+(\S+)\t.*coverage: ([0-9]+)(?:\.[0-9]+)?% of statements`)
	failed  = regexp.MustCompile(`(?m)^FAIL\t(\S+)`)
)

// readCoverage reads the output of go test. The place of a package is its path below pkg/component.
func readCoverage(out string) measure {
	m := measure{name: "statement coverage of each room by its own tests", goal: "70 %", lowest: true, every: true}
	low := 0
	for _, match := range covered.FindAllStringSubmatch(out, -1) {
		percent, err := strconv.Atoi(match[3])
		if err != nil {
			continue
		}
		if percent < 70 {
			low++
		}
		m.places = append(m.places, place{percent, "% " + room(match[2])})
	}
	for _, match := range failed.FindAllStringSubmatch(out, -1) {
		m.places = append(m.places, place{0, "% " + room(match[1]) + ", its tests fail"})
		low++
	}
	m.summary = fmt.Sprintf("%d of %d rooms under 70 %%", low, len(m.places))
	return m
}

func room(path string) string {
	_, below, found := strings.Cut(path, "/pkg/component/")
	if !found {
		return path
	}
	return below
}
