package explain

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/changes"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/show"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// maxBound is the maximum number of fields with holes that are shown.
const maxBound = 20

// boundValues returns the fields of a rendered object that have holes, with the values that they have in the live
// object: those that the operator bound last. A Secret has none, because its values are not shown.
func boundValues(rendered, live *unstructured.Unstructured, reconciler string) []show.WhyBound {
	if rendered.GetAnnotations()[reconciler+"/"+manifests.AnnotationBind] != "true" || changes.IsSecret(live) {
		return nil
	}
	var bound []show.WhyBound
	walkTexts(rendered.Object, nil, func(path changes.Path, text string) {
		if !strings.Contains(text, "${{") || len(bound) == maxBound {
			return
		}
		value, _ := path.At(live)
		bound = append(bound, show.WhyBound{Path: path.In(rendered), Hole: text, Value: value})
	})
	return bound
}

// walkTexts calls visit for each text of a JSON value, in the order of the names of the fields. Items of lists are
// selected by their name, as live objects may have more items.
func walkTexts(value any, at changes.Path, visit func(path changes.Path, text string)) {
	switch v := value.(type) {
	case string:
		visit(at, v)
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			walkTexts(v[key], append(slices.Clip(at), key), visit)
		}
	case []any:
		for i, item := range v {
			step := fmt.Sprint(i)
			if fields, ok := item.(map[string]any); ok && fields["name"] != nil {
				step = fmt.Sprint(fields["name"])
			}
			walkTexts(item, append(slices.Clip(at), step), visit)
		}
	}
}

// holesBelow returns the texts with holes in a field or below it.
func holesBelow(bound []show.WhyBound, path changes.Path, live *unstructured.Unstructured) (holes []string) {
	field := path.In(live)
	for _, b := range bound {
		rest, below := strings.CutPrefix(b.Path, field)
		if below && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			holes = append(holes, b.Hole)
		}
	}
	return holes
}
