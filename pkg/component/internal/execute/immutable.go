package execute

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

// maxDifferences is the maximum number of fields that a message about immutable fields names.
const maxDifferences = 5

// nameFields adds to the message about an update of immutable fields which fields of the manifest differ from the live
// object. The API server often names only the spec, or quotes all of it. The object is read once for that, as the
// identity of the component. The message stays as it is if the object cannot be read, or has no such field.
func (e *Executor) nameFields(ctx context.Context, f *plan.Failure, a plan.Action, refusal error) {
	if f.Reason != plan.WaitImmutable || a.Object == nil || isSecret(a) {
		return
	}
	live, err := e.Live(ctx, a)
	if err != nil || live == nil {
		return
	}
	whole, err := a.Object.Whole()
	if err != nil {
		return
	}
	if fields := differences(whole.Body.Object, live.Object, refusedFields(refusal)); len(fields) > 0 {
		f.Message += "; these fields of the manifest differ from the object: " + strings.Join(fields, ", ")
	}
}

// refusedFields returns the fields that the API server refused, such as spec.template.
func refusedFields(refusal error) []string {
	var status apierrors.APIStatus
	var fields []string
	if errors.As(refusal, &status) && status.Status().Details != nil {
		for _, cause := range status.Status().Details.Causes {
			fields = append(fields, cause.Field)
		}
	}
	return fields
}

// differences returns the paths of the values below some fields that a manifest sets and a live object does not have,
// sorted. A path of a field ends before its first index. The result contains at most maxDifferences paths, and then the
// text "and more".
func differences(manifest, live map[string]any, fields []string) []string {
	var found []string
	for _, field := range fields {
		path, _, _ := strings.Cut(field, "[")
		names := strings.Split(strings.TrimSuffix(path, "."), ".")
		desired, set, _ := unstructured.NestedFieldNoCopy(manifest, names...)
		if !set {
			continue
		}
		current, _, _ := unstructured.NestedFieldNoCopy(live, names...)
		found = append(found, differing(strings.Join(names, "."), desired, current)...)
	}
	slices.Sort(found)
	if found = slices.Compact(found); len(found) > maxDifferences {
		return append(found[:maxDifferences], "and more")
	}
	return found
}

func differing(path string, desired, current any) []string {
	var found []string
	switch d := desired.(type) {
	case map[string]any:
		if c, isMap := current.(map[string]any); isMap || current == nil {
			for _, name := range slices.Sorted(maps.Keys(d)) {
				found = append(found, differing(path+"."+name, d[name], c[name])...)
			}
			return found
		}
	case []any:
		if c, isList := current.([]any); isList && len(c) == len(d) {
			for i := range d {
				found = append(found, differing(fmt.Sprintf("%s[%d]", path, i), d[i], c[i])...)
			}
			return found
		}
	}
	if isSameValue(desired, current) {
		return nil
	}
	return []string{path}
}

// isSameValue reports whether two values without fields are equal for an API server, which writes quantities in their
// shortest form and drops empty values.
func isSameValue(desired, current any) bool {
	if current == nil {
		v := reflect.ValueOf(desired)
		return !v.IsValid() || v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0
	}
	left, right := fmt.Sprint(desired), fmt.Sprint(current)
	if left == right {
		return true
	}
	a, err := resource.ParseQuantity(left)
	if err != nil {
		return false
	}
	b, err := resource.ParseQuantity(right)
	return err == nil && a.Cmp(b) == 0
}
