package status

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestPublished(t *testing.T) {
	type texts = map[string]string
	for _, c := range []struct {
		name         string
		before       texts
		names        []string
		values, want texts
	}{
		{"nothing without names", texts{"a": `1`}, nil, texts{"a": `2`}, texts{}},
		{
			"values keep their types", nil,
			[]string{"b", "n", "f", "o", "l"},
			texts{"b": `true`, "n": `5`, "f": `1.5`, "o": `{"b":null,"a":"x"}`, "l": `[1]`},
			texts{"b": `true`, "n": `5`, "f": `1.5`, "o": `{"a":"x","b":null}`, "l": `[1]`},
		},
		{"a value is replaced", texts{"a": `1`}, []string{"a"}, texts{"a": `2`}, texts{"a": `2`}},
		{"a value that vanished stays", texts{"a": `1`}, []string{"a"}, nil, texts{"a": `1`}},
		{"a name that is not published any more", texts{"a": `1`, "b": `2`}, []string{"b"}, nil, texts{"b": `2`}},
		{"a name without any value", nil, []string{"a", "b"}, texts{"b": `2`}, texts{"b": `2`}},
		{"values of names that are not published", nil, []string{"a"}, texts{"b": `2`}, texts{}},
		{
			"equal values keep the bytes that the API server wrote",
			texts{"a": `{"y":1,"x":"<"}`, "n": `18446744073709552000`},
			[]string{"a", "n"},
			texts{"a": `{"x":"\u003c","y":1}`, "n": `18446744073709551615`},
			texts{"a": `{"y":1,"x":"<"}`, "n": `18446744073709552000`},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			before, values, got := map[string]runtime.RawExtension{}, map[string][]byte{}, texts{}
			for name, value := range c.before {
				before[name] = runtime.RawExtension{Raw: []byte(value)}
			}
			for name, value := range c.values {
				values[name] = []byte(value)
			}
			published, err := Published(before, c.names, values)
			for name, value := range published {
				got[name] = string(value.Raw)
			}
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Errorf("error %v, want (-) got (+):\n%s", err, diff)
			}
		})
	}
}

func TestPublishedValuesThatAreTooLarge(t *testing.T) {
	large := []byte(`"` + strings.Repeat("x", 9<<10) + `"`)
	_, err := Published(nil, []string{"b", "a"}, map[string][]byte{"a": large, "b": large})
	const want = "the published exports a, b have together 18438 bytes, more than 16384; publish fewer or smaller values"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
