package validate

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

const (
	// maxData is the maximum size of the values of a ConfigMap or a Secret.
	maxData = 1 << 20
	// maxObject is the size above which etcd refuses an object by default.
	maxObject = 3 << 19
)

var (
	configMap = schema.GroupKind{Kind: "ConfigMap"}
	secret    = schema.GroupKind{Kind: "Secret"}
)

// checkData checks the keys and the size of the data of a ConfigMap or a Secret.
func checkData(o manifests.Object) []Fault {
	gk := o.Key.GroupKind()
	if gk != configMap && gk != secret {
		return nil
	}
	var faults []Fault
	size := 0
	for _, name := range []string{"data", "binaryData"} {
		values, _, err := unstructured.NestedStringMap(o.Body.Object, name)
		if err != nil {
			// Values of other types are a fault of the type.
			return faults
		}
		encoded := gk == secret || name == "binaryData"
		for _, key := range slices.Sorted(maps.Keys(values)) {
			if problems := validation.IsConfigMapKey(key); len(problems) > 0 {
				faults = append(faults, Fault{Field: fmt.Sprintf("%s[%s]", name, key), Message: invalid(key, problems)})
			}
			if encoded {
				size += base64.StdEncoding.DecodedLen(len(values[key]))
				continue
			}
			size += len(values[key])
		}
	}
	if size > maxData {
		faults = append(faults, Fault{Field: "data", Message: fmt.Sprintf("Too long: may not be more than %d bytes", maxData)})
	}
	return faults
}

// checkSize suspects objects that etcd refuses. Only the texts are counted, so the object is a little larger.
func checkSize(o manifests.Object) []Fault {
	if textSize(o.Body.Object) <= maxObject {
		return nil
	}
	return []Fault{{Message: fmt.Sprintf("it is larger than %d bytes", maxObject)}}
}

// textSize returns the number of bytes of the texts in a value.
func textSize(value any) int {
	size := 0
	switch value := value.(type) {
	case string:
		size = len(value)
	case map[string]any:
		for key, item := range value {
			size += len(key) + textSize(item)
		}
	case []any:
		for _, item := range value {
			size += textSize(item)
		}
	}
	return size
}
