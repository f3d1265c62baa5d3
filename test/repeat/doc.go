// Package repeat runs failed tests a second time, and reports tests that pass the second time as flaky. It does so only
// if the environment variable FAIRLEAD_TEST_FLAKY names a folder for the reports. CI sets the variable.
//
// Ginkgo repeats a failed spec within its suite, see [Specs]. [Program] repeats other tests. It is the program that
// go test -exec calls for each package.
//
// A test that fails twice stays failed. A panic, a timeout of the test binary, an exit of the process, or a failure
// outside of the tests and specs stays failed, too. Ginkgo repeats a spec that panics, but the suite fails. A spec that
// exceeds its own timeout failed by itself, and may be flaky.
package repeat

import (
	"fmt"
	"os"
)

// folderVariable is the environment variable with the folder of the reports about flaky tests.
const folderVariable = "FAIRLEAD_TEST_FLAKY"

// report writes the names of flaky tests, and what was printed about them at first, into a file in the folder.
func report(folder, text string) error {
	file, err := os.CreateTemp(folder, "*.txt")
	if err != nil {
		return fmt.Errorf("report flaky tests: %w", err)
	}
	if _, err := file.WriteString(text); err != nil {
		return fmt.Errorf("report flaky tests: %w", err)
	}
	return file.Close()
}
