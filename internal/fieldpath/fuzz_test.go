package fieldpath_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/fairlead-io/fairlead/internal/fieldpath"
	"github.com/fairlead-io/fairlead/internal/fuzzing"
)

// Paths come from manifests, and objects and managed fields from any client. A path must be parsed again from its text,
// and no function may panic or change its arguments.
func FuzzIgnore(f *testing.F) {
	const object = `{"spec":{"replicas":1,"ports":[{"port":80,"nodePort":1}],"set":["a"]}}`
	const fields = `{"f:spec":{"f:replicas":{},"f:ports":{".":{},"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:port":{}}},"f:set":{"v:\"a\"":{}}}}`
	f.Add(`spec.replicas, spec.ports[port=80].nodePort`, []byte(object), []byte(fields), []byte(`{}`))
	f.Add(`spec[*], data["a.b"]`, []byte(object), []byte(`{"f:spec":{}}`), []byte(fields))
	f.Add(`spec.ports[*].nodePort`, []byte(object), []byte(fields), []byte(fields))
	f.Add(`a['"'][x="y",z=1]`, []byte(`[]`), []byte(`{"f:a":1}`), []byte(`null`))
	fuzzing.Run(f, func(t *testing.T, text string, object, ours, others []byte) {
		paths, err := fieldpath.ParseList(text)
		if err != nil {
			return
		}
		for _, p := range paths {
			again, err := fieldpath.Parse(p.String())
			if err != nil || !reflect.DeepEqual(again, p) {
				t.Fatalf("%q is parsed as %q, and this text as %q: %v", text, p, again, err)
			}
		}
		obj, mine, theirs := decode(object), decode(ours), decode(others)
		live := fieldpath.Live{Object: decode(object), Ours: mine, Others: theirs}
		stripped := fieldpath.Strip(obj, paths)
		fieldpath.Mask(mine, paths)
		if laid := fieldpath.Overlay(obj, obj, paths); !reflect.DeepEqual(laid, obj) {
			t.Errorf("the object differs from itself: %v, %v", laid, obj)
		}
		if _, err := fieldpath.Prepare(obj, live, paths); err == nil {
			if _, err := fieldpath.Prepare(stripped, live, paths); err != nil {
				t.Errorf("the object without its ignored fields is refused: %v", err)
			}
		}
		if !reflect.DeepEqual(obj, decode(object)) || !reflect.DeepEqual(mine, decode(ours)) ||
			!reflect.DeepEqual(theirs, decode(others)) {
			t.Error("an argument was changed")
		}
	})
}

func decode(data []byte) map[string]any {
	var value map[string]any
	if json.Unmarshal(data, &value) != nil {
		return nil
	}
	return value
}
