package operator

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

var _ = Describe("Values", func() {
	from := func(kind metav1alpha1.ReferenceKind, name, key string) metav1alpha1.ValuesReference {
		return metav1alpha1.ValuesReference{Kind: kind, Name: name, ValuesKey: key}
	}

	It("override the values of earlier references, and spec.values override all", func() {
		got, err := valuesOf(newComponent(v1alpha1.ComponentSpec{
			ValuesFrom: []metav1alpha1.ValuesReference{
				from("ConfigMap", "a", ""), from("Secret", "b", "prod.yaml"),
				{Kind: "Secret", Name: "absent", Optional: true},
				{Kind: "ConfigMap", Name: "a", ValuesKey: "absent", Optional: true},
			},
			Values: &runtime.RawExtension{Raw: []byte(`{"db":{"port":3},"only":"spec"}`)},
		}), generator.References{
			configMap("a"): data("values.yaml", "db: {host: a, port: 1, user: a}\nlist: [1, 2]\n"),
			secret("b"):    data("prod.yaml", "db: {host: b, port: 2}\nlist: [3]\n"),
		}, nil, nil)
		Expect(err).NotTo(HaveOccurred())
		Expect(got).To(Equal(map[string]any{
			"db": map[string]any{"host": "b", "port": int64(3), "user": "a"}, "list": []any{int64(3)}, "only": "spec",
		}))
	})

	DescribeTable("lead to errors without contents of a Secret:",
		func(reference metav1alpha1.ValuesReference, contents map[string][]byte, want string) {
			references := generator.References{}
			if contents != nil {
				references[generator.Reference{Kind: reference.Kind, Namespace: "apps", Name: reference.Name}] = contents
			}
			_, err := valuesOf(newComponent(v1alpha1.ComponentSpec{ValuesFrom: []metav1alpha1.ValuesReference{reference}}),
				references, nil, nil)
			Expect(err).To(MatchError(want))
		},
		Entry("a missing object", from("Secret", "db", ""), nil, `spec.valuesFrom[0]: Secret apps/db: not found`),
		Entry("a missing key", from("Secret", "db", ""), data("b", "x", "a", "y"),
			`spec.valuesFrom[0]: Secret apps/db has no key "values.yaml"; its keys are a, b`),
		Entry("a missing key of an empty object", from("ConfigMap", "db", "prod.yaml"), data(),
			`spec.valuesFrom[0]: ConfigMap apps/db has no key "prod.yaml"; its keys are none`),
		Entry("invalid YAML", from("ConfigMap", "db", ""), data("values.yaml", "a: 1\nb: [unclosed\n"),
			`spec.valuesFrom[0]: ConfigMap apps/db, key "values.yaml": invalid YAML: line 2: did not find expected ',' or ']'`),
		Entry("invalid YAML in a Secret", from("Secret", "db", ""), data("values.yaml", "a: 1\nb: [unclosed\n"),
			`spec.valuesFrom[0]: Secret apps/db, key "values.yaml": invalid YAML: line 2 (the parser's message could quote the Secret, so it is withheld)`),
		Entry("an alias without anchor in a Secret", from("Secret", "db", ""), data("values.yaml", "password: *hunter2"),
			`spec.valuesFrom[0]: Secret apps/db, key "values.yaml": invalid YAML: unknown line (the parser's message could quote the Secret, so it is withheld)`),
		Entry("a list", from("Secret", "db", ""), data("values.yaml", "# list\n- hunter2\n"),
			`spec.valuesFrom[0]: Secret apps/db, key "values.yaml": line 2: want a map of values, such as replicas: 2`),
		Entry("a text", from("Secret", "db", ""), data("values.yaml", "hunter2"),
			`spec.valuesFrom[0]: Secret apps/db, key "values.yaml": line 1: want a map of values, such as replicas: 2`),
		Entry("a second document", from("ConfigMap", "db", ""), data("values.yaml", "a: 1\n---\nb: 2\n"),
			`spec.valuesFrom[0]: ConfigMap apps/db, key "values.yaml": line 2: a second document begins; want a single document`),
		Entry("aliases that expand to a large text", from("ConfigMap", "db", ""),
			data("values.yaml", "a: &a "+strings.Repeat("x", 1<<20)+"\nb: ["+strings.Repeat("*a,", 9)+"]\n"),
			`spec.valuesFrom[0]: ConfigMap apps/db, key "values.yaml": line 2: the aliases up to here expand to more than 8388608 bytes: use fewer`),
	)

	DescribeTable("are parsed like in Helm:",
		func(text string, want map[string]any) {
			got, duplicates, err := parseValues([]byte(text))
			Expect(err).NotTo(HaveOccurred())
			Expect(got).To(Equal(want))
			Expect(duplicates).To(BeEmpty())
		},
		Entry("nothing", "", nil),
		Entry("a comment", "# nothing\n", nil),
		Entry("an empty document", "---\n", nil),
		Entry("a null", "null\n", nil),
		Entry("an empty map", "{}", map[string]any{}),
		Entry("a null value is kept", "a: null\nb:\n", map[string]any{"a": nil, "b": nil}),
		Entry("YAML 1.1 booleans", "a: yes\nb: off\n", map[string]any{"a": true, "b": false}),
		Entry("whole and other numbers", "a: 10000000000\nb: 1.5\n", map[string]any{"a": int64(10000000000), "b": 1.5}),
		Entry("keys that are not strings", "80: a\n", map[string]any{"80": "a"}),
		Entry("anchors", "a: &x {b: 1}\nc: *x\n", map[string]any{
			"a": map[string]any{"b": int64(1)},
			"c": map[string]any{"b": int64(1)},
		}),
	)

	DescribeTable("have the last value of a key that occurs twice, with a warning that quotes no Secret:",
		func(kind metav1alpha1.ReferenceKind, want string) {
			var warnings []string
			got, err := valuesOf(newComponent(v1alpha1.ComponentSpec{
				ValuesFrom: []metav1alpha1.ValuesReference{from(kind, "db", "")},
			}), generator.References{
				{Kind: kind, Namespace: "apps", Name: "db"}: data("values.yaml", "---\n\xef\xbb\xbfa: 1\nb: {c: 2}\na: 3\n"),
			}, nil, func(text string) { warnings = append(warnings, text) })
			Expect(err).NotTo(HaveOccurred())
			Expect(got).To(Equal(map[string]any{"a": int64(3), "b": map[string]any{"c": int64(2)}}))
			Expect(warnings).To(Equal([]string{want}))
		},
		Entry("a ConfigMap", metav1alpha1.ConfigMapReference,
			`spec.valuesFrom[0]: ConfigMap apps/db, key "values.yaml": line 4: the key "a" occurs twice in a map; the last value is used`),
		Entry("a Secret", metav1alpha1.SecretReference,
			`spec.valuesFrom[0]: Secret apps/db, key "values.yaml": line 4: a key occurs twice in a map; the last value is used`),
	)

	DescribeTable("are merged recursively:",
		func(base, over, want map[string]any) {
			Expect(merge(base, over)).To(Equal(want))
		},
		Entry("nothing over nothing", nil, nil, map[string]any{}),
		Entry("a map into a map", map[string]any{"a": map[string]any{"b": 1}}, map[string]any{"a": map[string]any{"c": 2}},
			map[string]any{"a": map[string]any{"b": 1, "c": 2}}),
		Entry("a scalar over a map", map[string]any{"a": map[string]any{"b": 1}}, map[string]any{"a": 2},
			map[string]any{"a": 2}),
		Entry("a map over a scalar", map[string]any{"a": 2}, map[string]any{"a": map[string]any{"b": 1}},
			map[string]any{"a": map[string]any{"b": 1}}),
		Entry("a list over a list", map[string]any{"a": []any{1, 2}}, map[string]any{"a": []any{3}},
			map[string]any{"a": []any{3}}),
		Entry("a null over a map, which is kept for Helm", map[string]any{"a": map[string]any{"b": 1}},
			map[string]any{"a": nil}, map[string]any{"a": nil}),
		Entry("a map over a null", map[string]any{"a": nil}, map[string]any{"a": map[string]any{"b": nil}},
			map[string]any{"a": map[string]any{"b": nil}}),
	)

	It("are not changed by a merge", func() {
		base := map[string]any{"a": map[string]any{"b": 1}}
		merge(base, map[string]any{"a": map[string]any{"b": 2, "c": 3}, "d": 4})
		Expect(base).To(Equal(map[string]any{"a": map[string]any{"b": 1}}))
	})
})
