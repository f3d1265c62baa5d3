package execute

import (
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

// If a manifest contains an empty map, and the applied object contains entries there that the apply removes, the API
// server merges the two to null (kubernetes/kubernetes#135841). For custom resources it refuses the null. For other
// types it stores the object without the map, and without the defaults of the fields in the map.

// applyWithout updates an object by two requests after the API server has refused null in fields that are empty in the
// manifest: without these fields, and with them. If the fields are not empty in the manifest, or the first request is
// refused, too, applyWithout returns the given error. A dry run stores nothing, so it consists of only the first
// request.
func (w *writer) applyWithout(
	ctx context.Context, resource dynamic.ResourceInterface, a plan.Action, extra map[string]any,
	emptied []string, refused error,
) (*unstructured.Unstructured, error) {
	without := a
	object := *a.Object
	object.Body = &unstructured.Unstructured{Object: withoutEmptied(a.Object.Body.Object, emptied)}
	without.Object = &object
	if equality.Semantic.DeepEqual(object.Body.Object, a.Object.Body.Object) {
		return nil, refused
	}
	obj, err := w.patch(ctx, resource, without, extra)
	if apierrors.IsInvalid(err) {
		return nil, refused
	}
	if err != nil || w.dryRun {
		return obj, err
	}
	return w.applyAgain(ctx, resource, a, extra)
}

// applyAgain applies a manifest for the second time. The object is ours since the first time, and a controller may have
// written its status in the meantime, so the resource version is no precondition.
func (w *writer) applyAgain(
	ctx context.Context, resource dynamic.ResourceInterface, a plan.Action, extra map[string]any,
) (*unstructured.Unstructured, error) {
	delete(extra, "resourceVersion")
	return w.patch(ctx, resource, a, extra)
}

// withoutEmptied returns a copy of a manifest without the empty maps at the given paths. A map that has no
// other field is left out, too. In the paths, names are separated by periods, and items of a list have no index.
func withoutEmptied(body map[string]any, paths []string) map[string]any {
	copied, _ := withoutEmptyAt(body, "", paths).(map[string]any)
	return copied
}

// withoutEmptyAt returns a copy of the value at a path.
func withoutEmptyAt(value any, path string, paths []string) any {
	switch value := value.(type) {
	case map[string]any:
		copied := maps.Clone(value)
		for name, field := range value {
			at := name
			if path != "" {
				at = path + "." + name
			}
			left := withoutEmptyAt(field, at, paths)
			if isEmpty(left) && (slices.Contains(paths, at) || !isEmpty(field)) {
				delete(copied, name)
				continue
			}
			copied[name] = left
		}
		return copied
	case []any:
		copied := make([]any, len(value))
		for i, item := range value {
			copied[i] = withoutEmptyAt(item, path, paths)
		}
		return copied
	}
	return value
}

// withoutNulls returns a copy of a manifest without the fields that are null at the given paths; see withoutEmptied.
// removed is false if there is none.
func withoutNulls(body map[string]any, paths []string) (rest map[string]any, removed bool) {
	copied := runtime.DeepCopyJSON(body)
	removed = removeNulls(copied, "", paths)
	return copied, removed
}

func removeNulls(value any, path string, paths []string) (removed bool) {
	switch value := value.(type) {
	case map[string]any:
		for name, field := range value {
			at := name
			if path != "" {
				at = path + "." + name
			}
			if field == nil && slices.Contains(paths, at) {
				delete(value, name)
				removed = true
				continue
			}
			removed = removeNulls(field, at, paths) || removed
		}
	case []any:
		for _, item := range value {
			removed = removeNulls(item, path, paths) || removed
		}
	}
	return removed
}

// isNullInstead reports whether an object in a response contains null where the manifest contains an empty map. Such
// fields may be null, or any value. The next apply of the manifest restores the map.
func isNullInstead(manifest, response any) bool {
	return anyField(manifest, response, func(value, now any, isField bool) bool {
		return isField && now == nil && isEmpty(value)
	})
}

// lacksEmpty reports whether an object in a response lacks a field that the manifest sets to an empty map. The next
// apply of the manifest restores the map. Some types never show empty maps, and then the next apply changes nothing.
func lacksEmpty(manifest, response any) bool {
	return anyField(manifest, response, func(value, now any, _ bool) bool { return now == nil && isEmpty(value) })
}

// lacksEmptyList reports whether an object in a response lacks a list that the manifest sets to an empty one. An apply
// that removes the last items of a set or of a list with keys removes the list of a custom resource. The next apply of
// the manifest restores it.
func lacksEmptyList(manifest, response any) bool {
	return anyField(manifest, response, func(value, now any, _ bool) bool {
		list, isList := value.([]any)
		return now == nil && isList && len(list) == 0
	})
}

// isEmpty reports whether a value is a map without entries.
func isEmpty(value any) bool {
	m, ok := value.(map[string]any)
	return ok && len(m) == 0
}

// anyField reports whether is returns true for a field or an item of a manifest. Its arguments are the value in the
// manifest, the value in the response, and whether the response contains a field for it. Lists of different lengths are
// not compared. The fields of a map that the response lacks are absent, too.
func anyField(manifest, response any, is func(value, now any, isField bool) bool) bool {
	switch manifest := manifest.(type) {
	case map[string]any:
		live, ok := response.(map[string]any)
		if !ok && response != nil {
			return false
		}
		for name, value := range manifest {
			now, isField := live[name]
			if is(value, now, isField) || anyField(value, now, is) {
				return true
			}
		}
	case []any:
		live, ok := response.([]any)
		if !ok || len(live) != len(manifest) {
			return false
		}
		for i, item := range manifest {
			if is(item, live[i], false) || anyField(item, live[i], is) {
				return true
			}
		}
	}
	return false
}
