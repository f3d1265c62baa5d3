package input

import (
	"encoding/json"
	"testing"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/fuzzing"
)

// Parameters and referenced objects come from a tenant. The values are compared in the process of the operator.
func FuzzInputs(f *testing.F) {
	f.Add([]byte(`{"a":{"b":[1,{"c":null}]},"password":"d"}`), []byte("a: {b: [c]}\n"), []byte("e"))
	f.Add([]byte(`{"":[[[]],{}]}`), []byte("a: &a [b]\nc: *a\n"), []byte("- a\n"))
	fuzzing.Run(f, func(t *testing.T, parameters, secret, config []byte) {
		in := Inputs{Declaration: Declaration{}}
		if json.Unmarshal(parameters, &in.Parameters) != nil {
			return
		}
		in.Rendered = map[string]any{"values": in.Parameters, "path": string(config)}
		for kind, data := range map[metav1alpha1.ReferenceKind][]byte{
			metav1alpha1.SecretReference: secret, metav1alpha1.ConfigMapReference: config,
		} {
			ref := NewReference("shop", metav1alpha1.Reference{Kind: kind, Name: "a"})
			if err := ref.SetData(map[string][]byte{"values.yaml": data, "b": config}); err != nil {
				t.Fatal(err)
			}
			in.References = append(in.References, ref)
		}
		all := in.Values()
		if changes := all.ChangesTo(all); len(changes) > 0 {
			t.Errorf("the same values differ: %q", changes)
		}
	})
}
