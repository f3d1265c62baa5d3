package values_test

import (
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/values"
)

var _ = Describe("Sources", func() {
	var warnings []string
	BeforeEach(func() { warnings = nil })
	// load writes the texts to the files 0.yaml, 1.yaml and so on, and loads these files and the assignments.
	load := func(stdin string, texts []string, assignments ...string) (map[string]any, error) {
		GinkgoHelper()
		GinkgoT().Chdir(GinkgoT().TempDir())
		s := values.Sources{
			Assignments: assignments, Stdin: strings.NewReader(stdin),
			Warn: func(err error) { warnings = append(warnings, err.Error()) },
		}
		for i, text := range texts {
			file := string(rune('0'+i)) + ".yaml"
			if text == "-" {
				file = "-"
			} else {
				Expect(os.WriteFile(file, []byte(text), 0o600)).To(Succeed())
			}
			s.Files = append(s.Files, file)
		}
		return s.Load()
	}

	DescribeTable("merges like Helm:",
		func(texts, assignments []string, want map[string]any) {
			Expect(load("stdin: true", texts, assignments...)).To(Equal(want))
		},
		Entry("nothing", nil, nil, map[string]any{}),
		Entry("an empty file and a comment", []string{"", "# nothing\n"}, nil, map[string]any{}),
		Entry("later files override earlier files, and maps are merged",
			[]string{"a: {b: 1, c: 2}\nlist: [1, 2]", "a: {c: 3}\nlist: [4]"}, nil,
			map[string]any{"a": map[string]any{"b": int64(1), "c": int64(3)}, "list": []any{int64(4)}}),
		Entry("a scalar replaces a map, and a map a scalar",
			[]string{"a: {b: 1}\nc: 2", "a: x\nc: {d: 3}"}, nil,
			map[string]any{"a": "x", "c": map[string]any{"d": int64(3)}}),
		Entry("values with a kind but no apiVersion are not a manifest", []string{"kind: web\napiVersion: {of: it}"}, nil,
			map[string]any{"kind": "web", "apiVersion": map[string]any{"of": "it"}}),
		Entry("a null is kept, to remove a default of the chart", []string{"a: {b: 1}", "a: null"}, nil,
			map[string]any{"a": nil}),
		Entry("numbers keep their type", []string{"whole: 3\nbroken: 2.5\ntext: '3'"}, nil,
			map[string]any{"whole": int64(3), "broken": 2.5, "text": "3"}),
		Entry("stdin is merged in the order of the files", []string{"stdin: false\nx: 1", "-"}, nil,
			map[string]any{"stdin": true, "x": int64(1)}),
		Entry("assignments override files and earlier assignments", []string{"a: {b: 1, c: 2}"},
			[]string{"a.b=5", "a.b=6,d=x"},
			map[string]any{"a": map[string]any{"b": int64(6), "c": int64(2)}, "d": "x"}),
		Entry("lists, indices, escapes, types", nil, []string{`l={a,b}`, `h[1].p=80`, `k\.io/x=1\,2`, "on=true", "off=null"},
			map[string]any{
				"l": []any{"a", "b"}, "h": []any{nil, map[string]any{"p": int64(80)}}, "k.io/x": "1,2", "on": true, "off": nil,
			}),
	)

	DescribeTable("names the file and the line of",
		func(text, want string) {
			_, err := load("", []string{"a: 1", text})
			Expect(err).To(MatchError(want))
		},
		Entry("a list", "\n- a\n", "1.yaml:2: want a map of values, such as replicas: 2"),
		Entry("a scalar", "hello", "1.yaml:1: want a map of values, such as replicas: 2"),
		Entry("bad syntax", "a: 1\nb: {\n", "1.yaml:2: invalid YAML: did not find expected node content"),
		Entry("a tab", "a:\n\tb: 1", "1.yaml:2: invalid YAML: found character that cannot start any token"),
		Entry("a key twice", "a: 1\nb: 2\na: 3\n", `1.yaml:3: invalid YAML: key "a" already set in map`),
	)

	DescribeTable("reads the first document of a file like Helm, and warns of further documents:",
		func(text string, want map[string]any, warning string) {
			Expect(load("", []string{text})).To(Equal(want))
			Expect(strings.Join(warnings, "\n")).To(Equal(warning))
		},
		Entry("one document", "---\na: 1\n", map[string]any{"a": int64(1)}, ""),
		Entry("two documents", "a: 1\n---\nb: 2\n", map[string]any{"a": int64(1)},
			"0.yaml:2: a second document begins here; as in Helm, only the first document is read"),
		Entry("an empty first document", "---\n---\nb: 2\n", map[string]any{},
			"0.yaml:2: a second document begins here; as in Helm, only the first document is read"),
		Entry("an invalid second document", "a: 1\n---\nb: {\n", map[string]any{"a": int64(1)},
			"0.yaml:3: invalid YAML: did not find expected node content; as in Helm, only the first document is read"),
	)

	It("names a missing file", func() {
		s := values.Sources{Files: []string{filepath.Join(GinkgoT().TempDir(), "none.yaml")}}
		_, err := s.Load()
		Expect(err).To(MatchError(And(ContainSubstring("none.yaml"), ContainSubstring("no such file"))))
	})

	It("reads stdin once", func() {
		_, err := load("a: 1", []string{"-", "-"})
		Expect(err).To(MatchError("stdin is used twice as a file of values"))
	})

	It("does not print an invalid assignment, which may contain a password", func() {
		_, err := load("", nil, "a=1", "db[x].password=s3cret")
		Expect(err).To(MatchError(HavePrefix("--set number 2: ")))
		Expect(err.Error()).NotTo(ContainSubstring("s3cret"))
	})

	It("distinguishes empty values from no values", func() {
		Expect(values.Sources{}.Given()).To(BeFalse())
		Expect(values.Sources{Files: []string{"empty.yaml"}}.Given()).To(BeTrue())
	})
})
