package repeat

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
)

// notRepeated is printed about a test that runs specs and fails. Its specs were repeated, and failures outside of specs
// are not repeated.
const notRepeated = "This test is not repeated as a whole, because each failed spec ran twice: "

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
			if text := flakySpecs(r); text != "" {
				ginkgo.GinkgoHelper()
				if err := report(folder, text); err != nil {
					ginkgo.Fail(err.Error())
				}
			}
		})
	}
	if !ginkgo.RunSpecs(t, description, suite, reporter) && folder != "" {
		fmt.Println(notRepeated + t.Name())
	}
}

// flakySpecs returns the text about the specs that passed at a second attempt: the failures and the output of the first
// one.
func flakySpecs(r ginkgo.Report) string {
	var b strings.Builder
	for _, spec := range r.SpecReports {
		if !spec.State.Is(types.SpecStatePassed) || spec.NumAttempts < 2 {
			continue
		}
		fmt.Fprintf(&b, "FLAKY: %s: %s\n%s\n", r.SuiteDescription, spec.FullText(), spec.LeafNodeLocation)
		for _, failure := range spec.AdditionalFailures {
			fmt.Fprintf(&b, "%s\n%s\n", failure.Failure.Message, failure.Failure.Location)
		}
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
