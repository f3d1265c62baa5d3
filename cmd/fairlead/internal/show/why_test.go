package show_test

import (
	"bytes"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/show"
)

var _ = DescribeTable("Why prints for a field", func(field show.WhyField, through []string, want ...string) {
	field.Path = "spec.x"
	var out bytes.Buffer
	w := show.Why{
		Object: show.WhyObject{Kind: "Pod", Namespace: "apps", Name: "web"}, Component: "c", Reconciler: "r",
		Through: through, Field: &field,
	}
	Expect(w.Print(show.Output{Writer: &out})).To(Succeed())
	var rows []string
	for line := range strings.Lines(out.String()) {
		title, text, _ := strings.Cut(strings.TrimSpace(line), "  ")
		if title == "field" || title == "manifest" {
			rows = append(rows, strings.TrimSpace(text))
		}
	}
	Expect(rows).To(Equal(want))
},
	Entry("a text unchanged", show.WhyField{Value: "a <b>", Rendered: true}, nil, "spec.x = a <b>", "it sets this value"),
	Entry("a large number in full", show.WhyField{Value: 1e6, Rendered: true, Differs: true}, nil, "spec.x = 1000000",
		"it sets another value"),
	Entry("a map as JSON, in order", show.WhyField{Value: map[string]any{"b": "<1>", "a": []any{true, nil}}}, nil,
		`spec.x = {"a":[true,null],"b":"<1>"}`, "it does not set this field"),
	Entry("that the manifest is unknown", show.WhyField{Value: int64(1), Unknown: true}, nil, "spec.x = 1",
		"it is unknown whether the manifest sets this field"),
	Entry("that an object of a controller has no manifest", show.WhyField{Value: true, Unknown: true},
		[]string{"ReplicaSet.apps apps/web"},
		"spec.x = true", "none: a controller made this object"),
)
