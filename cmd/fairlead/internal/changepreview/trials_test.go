package changepreview

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
		"notes of a deterministic chart": {
			plain, "Welcome to {{ .Release.Name }}.",
			Notes{Text: "Welcome to shop.", Final: true},
		},
		"notes of a chart with random values": {
			"{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {b: '{{ randAlpha 5 }}'}}", "Welcome.",
			Notes{Text: "Welcome."},
		},
		"notes with a look-up": {
			plain, `{{ (lookup "v1" "Service" "" "web").status | default "pending" }}`, Notes{Text: "pending"},
		},
		"no notes yet, after a look-up": {
			plain, `{{ if lookup "v1" "Service" "" "web" }}Welcome.{{ end }}`, Notes{},
		},
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
			if _, err := (trials{Generator: g, notes: &got}).Generate(t.Context(),
				generator.Request{Name: "shop", Revision: 1}); err != nil {
				t.Fatal(err)
			}
			if got != c.want {
				t.Errorf("want %+v, got %+v", c.want, got)
			}
		})
	}
}
