package preview

import (
	"testing"
	"testing/fstest"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/helm"
)

func TestNotesOfATrialAreFinalIfTheyCannotDiffer(t *testing.T) {
	const plain = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"
	cases := map[string]struct {
		object, notes string
		want          Notes
	}{
		"notes of a deterministic chart": {plain, "Welcome to {{ .Release.Name }}.", Notes{Text: "Welcome to shop.", Final: true}},
		"notes of a chart with random values": {
			"{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {b: '{{ randAlpha 5 }}'}}", "Welcome.", Notes{Text: "Welcome."},
		},
		"notes with a look-up": {
			plain, `{{ (lookup "v1" "Service" "" "web").status | default "pending" }}`, Notes{Text: "pending"},
		},
		"no notes of a chart with random values": {"{apiVersion: v1, kind: ConfigMap, metadata: {name: '{{ uuidv4 }}'}}", "", Notes{Final: true}},
		"notes of a chart that does not render":  {`{{ fail "no" }}`, "Welcome.", Notes{}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			files := fstest.MapFS{
				"Chart.yaml":       {Data: []byte("{apiVersion: v2, name: shop, version: 1.0.0}")},
				"templates/a.yaml": {Data: []byte(c.object)},
			}
			if c.notes != "" {
				files["templates/NOTES.txt"] = &fstest.MapFile{Data: []byte(c.notes)}
			}
			g, err := helm.New(files, helm.Options{})
			if err != nil {
				t.Fatal(err)
			}
			var got Notes
			_, err = trials{Generator: g, notes: &got}.Generate(t.Context(), generator.Request{Name: "shop", Revision: 1})
			if isError := (c.want == Notes{}); isError != (err != nil) {
				t.Fatalf("got the error %v", err)
			}
			if got != c.want {
				t.Errorf("want %+v, got %+v", c.want, got)
			}
		})
	}
}
