package validate

import (
	"slices"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-io/fairlead/internal/builtintypes"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// templates are the places of pod templates in the built-in kinds that have one.
var templates = map[string][]string{
	"DaemonSet":             {"spec", "template"},
	"Deployment":            {"spec", "template"},
	"Job":                   {"spec", "template"},
	"ReplicaSet":            {"spec", "template"},
	"ReplicationController": {"spec", "template"},
	"StatefulSet":           {"spec", "template"},
	"CronJob":               {"spec", "jobTemplate", "spec", "template"},
}

// checkMetadata checks the syntax of labels and annotations of an object, and of its pod template.
func checkMetadata(o manifests.Object) []Fault {
	faults := checkMetadataAt(o.Body.Object, nil)
	if at, ok := templates[o.Key.Kind]; ok && builtintypes.IsBuiltIn(o.Key.Group) {
		faults = append(faults, checkMetadataAt(o.Body.Object, at)...)
	}
	return faults
}

func checkMetadataAt(body map[string]any, at []string) []Fault {
	of := func(name string) (map[string]string, *field.Path) {
		place := slices.Concat(at, []string{"metadata", name})
		values, _, err := unstructured.NestedStringMap(body, place...)
		if err != nil {
			// Values of other types are a fault of the type.
			return nil, nil
		}
		return values, field.NewPath(place[0], place[1:]...)
	}
	var errs field.ErrorList
	if values, place := of("labels"); len(values) > 0 {
		errs = append(errs, metavalidation.ValidateLabels(values, place)...)
	}
	if values, place := of("annotations"); len(values) > 0 {
		errs = append(errs, apivalidation.ValidateAnnotations(values, place)...)
	}
	faults := make([]Fault, 0, len(errs))
	for _, e := range errs {
		faults = append(faults, Fault{Field: e.Field, Message: e.ErrorBody()})
	}
	slices.SortFunc(faults, func(a, b Fault) int { return strings.Compare(a.String(), b.String()) })
	return faults
}
