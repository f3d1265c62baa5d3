package values_test

import (
	"os"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/values"
)

var _ = Describe("Inputs", func() {
	BeforeEach(func() {
		GinkgoT().Chdir(GinkgoT().TempDir())
		for name, text := range map[string]string{
			"rates.json": `{"eur": 2}`, "list.yaml": "[a, b]", "text": "large", "empty": "", "broken": "a: [",
		} {
			Expect(os.WriteFile(name, []byte(text), 0o600)).To(Succeed())
		}
	})

	It("reads any value from files and stdin", func() {
		Expect(values.Inputs([]string{"rates=rates.json", "list=list.yaml", "size=text", "in=-"}, strings.NewReader("1.5"))).
			To(Equal([]values.Input{
				{Name: "rates", Value: map[string]any{"eur": int64(2)}},
				{Name: "list", Value: []any{"a", "b"}},
				{Name: "size", Value: "large"},
				{Name: "in", Value: 1.5},
			}))
	})

	It("reads places, which only a source without a component needs", func() {
		inputs, err := values.Inputs([]string{"logging:log.of:all=text"}, strings.NewReader(""))
		Expect(err).NotTo(HaveOccurred())
		Expect(inputs).To(Equal([]values.Input{{Name: "logging", Path: "log.of:all", Value: "large"}}))
		_, err = values.ByName(inputs)
		Expect(err).To(MatchError(
			"--input logging:log.of:all: leave the path out, spec.inputs of the component has it; want NAME=FILE"))
		Expect(values.ByName([]values.Input{{Name: "a", Value: "b"}})).To(Equal(map[string]any{"a": "b"}))
	})

	DescribeTable("refuses", func(want string, assignments ...string) {
		_, err := values.Inputs(assignments, strings.NewReader("1"))
		Expect(err).To(MatchError(ContainSubstring(want)))
	},
		Entry("a flag without a file", "want NAME=FILE", "rates"),
		Entry("a path without a name", "want NAME:PATH=FILE", "rates:a..b=text"),
		Entry("an empty path", "want NAME:PATH=FILE", "rates:=text"),
		Entry("an input twice", "the input a is given twice", "a=text", "a=list.yaml"),
		Entry("stdin twice", "stdin is used twice", "a=-", "b=-"),
		Entry("a file that does not exist", "no such file", "a=missing"),
		Entry("a file without a value", "the file contains no value", "a=empty"),
		Entry("a file that is no YAML", "--input a=broken: broken", "a=broken"),
	)
})
