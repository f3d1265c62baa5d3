package preview

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/pkg/component/result"
)

func TestLostValues(t *testing.T) {
	for _, c := range []struct {
		name, before, after string
		want                []result.LostValue
	}{
		{
			"values that are removed or changed are lost, added ones are not",
			"{kind: ConfigMap, data: {color: red, size: '10'}}", "{kind: ConfigMap, data: {color: blue, shape: round}}",
			[]result.LostValue{{Path: "data.color", Before: `"red"`, After: `"blue"`}, {Path: "data.size", Before: `"10"`}},
		},
		{
			"marks of other tools, managed fields and the status are not lost values",
			`{kind: ConfigMap, metadata: {name: a, uid: u, resourceVersion: "1", managedFields: [{manager: helm}], labels: {team: red,
				app.kubernetes.io/managed-by: Helm}, annotations: {meta.helm.sh/release-name: web,
				kubectl.kubernetes.io/last-applied-configuration: x, example.com/note: theirs}}, status: {a: b}}`,
			"{kind: ConfigMap, metadata: {name: a, uid: u, resourceVersion: '2', labels: {owner: us}}}",
			[]result.LostValue{
				{Path: `metadata.annotations["example.com/note"]`, Before: `"theirs"`},
				{Path: "metadata.labels.team", Before: `"red"`},
			},
		},
		{
			"marks of a component are not lost values, its settings are",
			`{kind: ConfigMap, metadata: {labels: {fairlead.io/owner-id: a}, annotations: {fairlead.io/owner-id: one, fairlead.io/digest: "1",
				fairlead.io/order: "2"}}}`,
			`{kind: ConfigMap, metadata: {labels: {fairlead.io/owner-id: b}, annotations: {fairlead.io/owner-id: two, fairlead.io/digest: "3"}}}`,
			[]result.LostValue{{Path: `metadata.annotations["fairlead.io/order"]`, Before: `"2"`}},
		},
		{
			"items of lists are compared one by one, and lists of other lengths as a whole",
			"{kind: A, spec: {a: [{b: 1}, {b: 2}], c: [1, 2]}}", "{kind: A, spec: {a: [{b: 1}, {b: 3}], c: [1]}}",
			[]result.LostValue{
				{Path: "spec.a[1].b", Before: "2", After: "3"}, {Path: "spec.c", Before: "[1,2]", After: "[1]"},
			},
		},
		{
			"values of Secrets are withheld", "{kind: Secret, apiVersion: v1, data: {password: eA==}}",
			"{kind: Secret, apiVersion: v1, data: {}}",
			[]result.LostValue{{Path: "data.password", Withheld: true}},
		},
		{"an object that stays as it is loses nothing", "{kind: A, spec: {a: 1}}", "{kind: A, spec: {a: 1}}", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			objects := [2]*unstructured.Unstructured{{}, {}}
			for i, text := range []string{c.before, c.after} {
				if err := yaml.Unmarshal([]byte(text), &objects[i].Object); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(c.want, lostValues(objects[0], objects[1])); diff != "" {
				t.Error(diff)
			}
		})
	}
}
