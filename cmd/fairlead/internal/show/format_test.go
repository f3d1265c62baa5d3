package show_test

import (
	"bytes"
	"strings"
	"time"
	"unicode"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/show"
)

var _ = DescribeTable("A text that controls a terminal, as YAML:", func(text string) {
	var out bytes.Buffer
	status := show.Status{Kind: "Status", Conditions: []show.Condition{
		{Type: text, Message: text},
		{Type: "Ready", Message: "a: b"},
	}}
	Expect(status.Print(show.Output{Writer: &out, Format: show.FormatYAML}, time.Now())).To(Succeed())
	Expect(strings.IndexFunc(out.String(), func(r rune) bool {
		return r != '\n' && (unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp))
	})).To(Equal(-1), "%q", out.String())
	var printed show.Status
	Expect(yaml.Unmarshal(out.Bytes(), &printed)).To(Succeed())
	Expect(printed.Conditions).To(Equal(status.Conditions))
},
	Entry("the direction of text", "user\u202egpj.exe\u202c"),
	Entry("the direction of text, in several lines", "one\n  two\u2066 three\nfour\n\n"),
	Entry("the direction of text, beside quotes and backslashes", "\u202e \"a\" 'b' \\u202e \\ # c: d"),
	Entry("a long line", strings.Repeat("a long line with \u202e ", 30)),
	Entry("a separator of lines", "a\u2028b\n\u2029c\u202e"),
	Entry("a number", "\u200e12"),
	Entry("escapes and carriage returns", "a\x1b[31m\r\nb\u009b\u0085\x7f\tc\u202e"),
)
