package records

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestARecordIsBoundedBeforeItIsDecoded(t *testing.T) {
	compressed := func(text string) []byte {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	for _, c := range []struct {
		name       string
		kind       Kind
		text, want string
	}{
		{"too many bytes", Phases, `["` + strings.Repeat("a", maxRecord) + `"]`, "it has more than 67108864 bytes"},
		{
			"too many values", Phases, "[" + strings.Repeat("{},", maxNodes) + "{}]",
			"more than 4000000 maps, lists, values and keys",
		},
		{
			"too many lines", Inventory, `["a"` + strings.Repeat(`,"a"`, maxLines) + "]",
			"more than 200000 maps, lists, values and keys",
		},
		{"too deep", Phases, strings.Repeat("[", 2000), "nest more than 1000 deep"},
		{"no JSON", Phases, "[", "the record is damaged, or another version wrote it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var content any
			err := decode(t.Context(), c.kind, compressed(c.text), &content)
			if !IsLost(err) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, want a LostError with %q", err, c.want)
			}
			if content != nil {
				t.Error("the record was decoded")
			}
		})
	}
}

func TestARecordWithoutAManifestIsLost(t *testing.T) {
	parts, err := Encode(Rendering, []any{map[string]any{"kind": "ConfigMap"}, nil})
	if err != nil {
		t.Fatal(err)
	}
	var bodies []*unstructured.Unstructured
	if err := decode(t.Context(), Rendering, parts[0], &bodies); !IsLost(err) {
		t.Errorf("decoded %v, with the error %v", bodies, err)
	}
}

func TestARecordThatCannotBeReadIsNotWritten(t *testing.T) {
	if _, err := Encode(Phases, make([]struct{}, maxNodes)); err == nil {
		t.Error("a record with too many values was encoded")
	}
	if _, err := Encode(Inventory, make([]string, maxLines)); err == nil {
		t.Error("an inventory with too many lines was encoded")
	}
}

func TestNamesOfRecords(t *testing.T) {
	const owner = "0123456789abcdef0123456789abcdef01234567"
	for name, want := range map[string]bool{
		secretName(Inventory, owner, "id", 0):     true,
		secretName(Rendering, owner, "id", 12):    true,
		secretName(Phases, owner, "id", 3):        true,
		ExternalsName(owner, 0):                   true,
		ExternalsName(owner, 17):                  true,
		"externals-" + owner:                      false,
		"externals-" + owner + "-a-0":             false,
		"externals-of-books-1":                    false,
		"inventory":                               false,
		"inventory-of-books-2-1":                  false,
		"copy-of-inventory-" + owner + "-id-0":    false,
		"inventory-" + owner + "-id-0-copy":       false,
		"inventory-" + owner[:39] + "g" + "-id-0": false,
	} {
		if got := IsName(name); got != want {
			t.Errorf("IsName(%q) is %t, want %t", name, got, want)
		}
		if got := isPartOf(name, owner); got != want {
			t.Errorf("isPartOf(%q) is %t, want %t", name, got, want)
		}
		if isPartOf(name, "another") {
			t.Errorf("%q is a part of a record of another owner", name)
		}
	}
}
