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
		s := values.Options{
			Assigned: values.Assignments{Plain: assignments}, Stdin: strings.NewReader(stdin),
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

	DescribeTable("assigns with the types and the precedence of Helm's flags:",
		func(stdin string, assigned values.Assignments, want map[string]any) {
			GinkgoT().Chdir(GinkgoT().TempDir())
			Expect(os.WriteFile("a.conf", []byte("x,y=1\n"), 0o600)).To(Succeed())
			options := values.Options{Assigned: assigned, Stdin: strings.NewReader(stdin)}
			Expect(options.Given()).To(BeTrue())
			Expect(options.Load()).To(Equal(want))
		},
		Entry("--set", "", values.Assignments{Plain: []string{"tag=20161216,huge=9007199254740993,part=1.5,zero=007"}},
			map[string]any{"tag": int64(20161216), "huge": int64(9007199254740993), "part": "1.5", "zero": "007"}),
		Entry("--set-string", "", values.Assignments{Text: []string{"tag=20161216,on=true,off=null,l={1,2}"}},
			map[string]any{"tag": "20161216", "on": "true", "off": "null", "l": []any{"1", "2"}}),
		Entry("--set-file", "standard", values.Assignments{Files: []string{"a.b=a.conf", "c=-"}},
			map[string]any{"a": map[string]any{"b": "x,y=1\n"}, "c": "standard"}),
		Entry("--set-json", "", values.Assignments{JSON: []string{`a.b={"c": [20161216, 1.5]},d=null,e="f,g"`}},
			map[string]any{"a": map[string]any{"b": map[string]any{"c": []any{int64(20161216), 1.5}}}, "d": nil, "e": "f,g"}),
		Entry("--set-json with an object", "",
			values.Assignments{JSON: []string{`{"a": {"b": 1, "c": 2}}`, ` {"a": {"c": 3}, "d": [20161216]}`}},
			map[string]any{"a": map[string]any{"b": int64(1), "c": int64(3)}, "d": []any{int64(20161216)}}),
		Entry("--set-literal", "", values.Assignments{Literal: []string{`a.b={1,2},c=3\`}},
			map[string]any{"a": map[string]any{"b": `{1,2},c=3\`}}),
		Entry("all", "", values.Assignments{
			JSON: []string{`a={"b":1},j=1`}, Plain: []string{"a.c=2,j=2"}, Text: []string{"j=3,a.d=4"},
			Files: []string{"j=a.conf,a.e=a.conf"}, Literal: []string{"j=5"},
		}, map[string]any{
			"a": map[string]any{"b": int64(1), "c": int64(2), "d": "4", "e": "x,y=1\n"}, "j": "5",
		}),
	)

	It("names the flag of an invalid assignment, and reads stdin only once", func() {
		for assigned, want := range map[*values.Assignments]string{
			{JSON: []string{"a=1", "a={"}}: "--set-json number 2: ",
			{JSON: []string{`{"a":`}}:      "--set-json number 1: unexpected end of JSON input",
			{Plain: []string{"a=x", "a.b=s3cret"}}: "--set number 2: it assigns a part of a map, but a file of values or an " +
				"earlier assignment makes that a text",
			{Plain: []string{"a.b=1,a[0]=2"}}: "--set number 1: it assigns a part of a list, but a file of values or an " +
				"earlier assignment makes that a map",
			{Text: []string{"s3cret[x]=s3cret"}}:    "--set-string number 1: ",
			{Files: []string{"a=missing"}}:          "--set-file number 1: read values: open missing: no such file",
			{Files: []string{"a=-", "b=-"}}:         "--set-file number 2: stdin is used twice",
			{Literal: []string{"a[s3cret]=s3cret"}}: "--set-literal number 1: ",
		} {
			_, err := values.Options{Assigned: *assigned, Stdin: strings.NewReader("")}.Load()
			Expect(err).To(MatchError(HavePrefix(want)))
		}
	})

	DescribeTable("names the file and the line of",
		func(text, want string) {
			_, err := load("", []string{"a: 1", text})
			Expect(err).To(MatchError(want))
		},
		Entry("a list", "\n- a\n", "1.yaml:2: want a map of values, such as replicas: 2"),
		Entry("a scalar", "hello", "1.yaml:1: want a map of values, such as replicas: 2"),
		Entry("bad syntax", "a: 1\nb: {\n", "1.yaml:2: invalid YAML: did not find expected node content"),
		Entry("a tab", "a:\n\tb: 1", "1.yaml:2: invalid YAML: found character that cannot start any token"),
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

	It("uses the last value of a key that occurs twice, and warns of it", func() {
		Expect(load("x: 1\nx: 2", []string{"---\n\xef\xbb\xbfa: 1\nb: {c: 2}\na: 3\n", "-"})).
			To(Equal(map[string]any{"a": int64(3), "b": map[string]any{"c": int64(2)}, "x": int64(2)}))
		Expect(warnings).To(Equal([]string{
			`0.yaml:4: the key "a" occurs twice in a map; the last value is used`,
			`stdin:2: the key "x" occurs twice in a map; the last value is used`,
		}))
	})

	It("names a missing file", func() {
		s := values.Options{Files: []string{filepath.Join(GinkgoT().TempDir(), "none.yaml")}}
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
		Expect(values.Options{}.Given()).To(BeFalse())
		Expect(values.Options{Files: []string{"empty.yaml"}}.Given()).To(BeTrue())
	})
})
