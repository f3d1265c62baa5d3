package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// folder contains the mutated packages.
const folder = "pkg/component/internal/"

// mutation is a defect in the code that at least one test must detect.
type mutation struct {
	name string
	// file is the path of the mutated file below folder.
	file string
	// was is a text that occurs once in the file. The mutation replaces it by is.
	was, is string
	// focus is a regular expression for the titles of the conformance specs that should detect the mutation.
	focus string
}

func mutations() []mutation {
	return slices.Concat(writing, deciding, observing, informing, graphs, passing, standalone)
}

// apply returns the path and the mutated content of the file.
func (m mutation) apply(root string) (path string, content []byte, err error) {
	path = filepath.Join(root, folder, m.file)
	source, err := os.ReadFile(path)
	if err != nil {
		return "", nil, err
	}
	if n := bytes.Count(source, []byte(m.was)); n != 1 {
		return "", nil, fmt.Errorf(
			"%s contains the text of the mutation %d times, want once; adapt the mutation to the code: %s",
			m.file,
			n,
			m.was,
		)
	}
	return path, bytes.Replace(source, []byte(m.was), []byte(m.is), 1), nil
}

// verdict contains the names of the first unit test and the first spec that detected the mutation. A name is empty if
// none did.
type verdict struct{ test, spec string }

func (v verdict) String() string {
	show := func(by, name string) string {
		if name == "" {
			return fmt.Sprintf("  %s: SURVIVED\n", by)
		}
		return fmt.Sprintf("  %s: caught by %s\n", by, name)
	}
	return show("unit tests ", v.test) + show("conformance", v.spec)
}

// run runs the tests with the mutation, which an overlay of the go command replaces in the source.
func (m mutation) run(ctx context.Context) (verdict, error) {
	root, err := filepath.Abs(".")
	if err != nil {
		return verdict{}, err
	}
	path, content, err := m.apply(root)
	if err != nil {
		return verdict{}, err
	}
	temporary, err := os.MkdirTemp("", "mutation-")
	if err != nil {
		return verdict{}, err
	}
	defer func() { _ = os.RemoveAll(temporary) }() // The folder contains only temporary files.
	mutated, overlay := filepath.Join(temporary, filepath.Base(path)), filepath.Join(temporary, "overlay.json")
	replaced, err := json.Marshal(map[string]map[string]string{"Replace": {path: mutated}})
	if err != nil {
		return verdict{}, err
	}
	if err := errors.Join(os.WriteFile(mutated, content, 0o600), os.WriteFile(overlay, replaced, 0o600)); err != nil {
		return verdict{}, err
	}
	var v verdict
	if v.test, err = test(ctx, overlay, firstTest, "./"+filepath.Dir(filepath.Join(folder, m.file))); err != nil {
		return verdict{}, err
	}
	if v.spec, err = specs(ctx, overlay, m.focus); err != nil || v.spec == "" {
		return v, err
	}
	if without, err := specs(ctx, "", regexp.QuoteMeta(v.spec)); err != nil || without != "" {
		return verdict{}, errors.Join(err, fmt.Errorf("%s also fails without the mutation", v.spec))
	}
	return v, nil
}

// specs runs specs of the conformance suite, and returns the text of a spec that failed, or an empty text.
func specs(ctx context.Context, overlay, focus string) (string, error) {
	failed, err := test(
		ctx,
		overlay,
		firstSpec,
		"./test/conformance",
		"-ginkgo.fail-fast",
		"-ginkgo.no-color",
		"-ginkgo.focus="+focus,
	)
	return strings.Replace(failed, "[It] ", "", 1), err
}

var (
	firstTest = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)
	firstSpec = regexp.MustCompile(`(?m)^\s*\[(?:FAIL|TIMEDOUT|PANICKED)\] (.*)$`)
)

// test runs the tests of a package, with an overlay if the path is not empty. It returns the name of a failed test, or
// an empty text if all tests passed.
func test(ctx context.Context, overlay string, failed *regexp.Regexp, pkg string, args ...string) (string, error) {
	arguments := append([]string{"test", "-count=1", "-vet=off", "-timeout=10m", "-overlay=" + overlay, pkg}, args...)
	output, err := exec.CommandContext(ctx, "go", arguments...).CombinedOutput()
	if err == nil {
		if strings.Contains(string(output), "Ran 0 of") {
			return "", fmt.Errorf("no spec matches %q", args)
		}
		return "", nil
	}
	found := failed.FindAllSubmatch(output, -1)
	if len(found) == 0 || bytes.Contains(output, []byte("[build failed]")) {
		return "", fmt.Errorf("%w: %s", err, output)
	}
	// The last name is used: a failed subtest is printed after its test, and ginkgo prints the names of specs in a summary
	// at the end.
	return strings.TrimSpace(string(found[len(found)-1][1])), nil
}
