// Package specs has specs that fail in several ways.
package specs_test

import (
	"fmt"
	"os"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"

	"github.com/fairlead-io/fairlead/test/repeat"
)

var attempts = 0

func TestSpecs(t *testing.T) {
	gomega.RegisterFailHandler(Fail)
	repeat.Specs(t, "a suite")
}

var _ = BeforeSuite(func() {
	if os.Getenv("FAIRLEAD_TEST_BROKEN") != "" {
		Fail("broken")
	}
})

var _ = Describe("a spec", func() {
	BeforeEach(func() {
		attempts++
		_, _ = fmt.Fprintf(GinkgoWriter, "output %d\n", attempts)
		_, _ = fmt.Printf("attempt %d\n", attempts)
	})

	It("that passes", func() {})

	It("that is flaky", func() {
		if CurrentSpecReport().NumAttempts < 2 {
			Fail("the first failure")
		}
	})

	It("that panics at first", func() {
		if CurrentSpecReport().NumAttempts < 2 {
			panic("the first panic")
		}
	})

	It("that is skipped later", func() {
		if CurrentSpecReport().NumAttempts > 1 {
			Skip("later")
		}
		Fail("the first failure")
	})

	It("that fails twice", func() { Fail(fmt.Sprint("failure ", attempts)) })
})
