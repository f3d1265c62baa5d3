package repeat

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
)

// NotRepeated begins a line that is printed about a test that runs specs and fails. [Program] does not run such a test
// again: its failed specs were repeated, and failures outside of specs are not repeated. A test that runs specs in
// other processes prints the line if one of them fails.
const NotRepeated = "This test is not repeated as a whole, because it repeats its specs: "

// Specs runs the specs of a package as [ginkgo.RunSpecs] does. With a folder for reports a failed spec runs a second
// time. Each edit changes the configuration of the suite.
func Specs(t *testing.T, description string, edits ...func(*types.SuiteConfig, *types.ReporterConfig)) {
	t.Helper()
	suite, reporter := ginkgo.GinkgoConfiguration()
	for _, edit := range edits {
		edit(&suite, &reporter)
	}
	folder := os.Getenv(folderVariable)
	if folder != "" {
		suite.FlakeAttempts = 2
		ginkgo.ReportAfterSuite("reports flaky specs", func(r ginkgo.Report) {
			ginkgo.GinkgoHelper()
			if text := flakySpecs(r); text != "" {
				if err := report(folder, text); err != nil {
					ginkgo.Fail(err.Error())
				}
			}
			if text := failedSpecs(r); text != "" {
				ginkgo.Fail(text)
			}
		})
	}
	if !ginkgo.RunSpecs(t, description, suite, reporter) && folder != "" {
		fmt.Println(NotRepeated + t.Name())
	}
}

// flakySpecs returns the text about the specs that passed at a second attempt: the failures and the output of the first
// one.
func flakySpecs(r ginkgo.Report) string {
	var b strings.Builder
	for _, spec := range r.SpecReports {
		if !spec.State.Is(types.SpecStatePassed) || spec.NumAttempts < 2 || panicked(spec) {
			continue
		}
		fmt.Fprintf(&b, "FLAKY: %s: %s\n%s\n%s", r.SuiteDescription, spec.FullText(), spec.LeafNodeLocation,
			failures(spec))
		output := spec.CapturedGinkgoWriterOutput
		for _, event := range spec.SpecEvents {
			if event.SpecEventType == types.SpecEventSpecRetry {
				output = output[:min(event.TimelineLocation.Offset, len(output))]
				break
			}
		}
		b.WriteString(output)
		b.WriteString("\n")
	}
	return b.String()
}

// failedSpecs returns the text about the specs that ginkgo does not count as failed, although a second attempt cannot
// mend them: specs that panicked at first, and specs that failed and were then skipped.
func failedSpecs(r ginkgo.Report) string {
	var b strings.Builder
	for _, spec := range r.SpecReports {
		switch {
		case spec.State.Is(types.SpecStatePassed) && panicked(spec):
			fmt.Fprintf(&b, "A spec panicked, and passed the second time: ")
		case spec.State.Is(types.SpecStateSkipped) && spec.NumAttempts > 1:
			fmt.Fprintf(&b, "A spec failed, and was skipped the second time: ")
		default:
			continue
		}
		fmt.Fprintf(&b, "%s\n%s\n%s", spec.FullText(), spec.LeafNodeLocation, failures(spec))
	}
	return b.String()
}

func panicked(spec types.SpecReport) bool {
	return slices.ContainsFunc(spec.AdditionalFailures, func(f types.AdditionalFailure) bool {
		return f.State.Is(types.SpecStatePanicked)
	})
}

// failures returns the failures of the first attempt.
func failures(spec types.SpecReport) string {
	var b strings.Builder
	for _, f := range spec.AdditionalFailures {
		fmt.Fprintf(&b, "%s\n", f.Failure.Message)
		if f.Failure.ForwardedPanic != "" {
			fmt.Fprintf(&b, "%s\n", f.Failure.ForwardedPanic)
		}
		fmt.Fprintf(&b, "%s\n", f.Failure.Location)
	}
	return b.String()
}
