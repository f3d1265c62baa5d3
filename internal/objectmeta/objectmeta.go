package objectmeta

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Check returns the mistakes in the identity and metadata of a manifest. It replaces null labels and
// annotations by empty strings.
func Check(object map[string]any) []error {
	var mistakes []error
	apiVersion, err := requiredString(object, "apiVersion", "apiVersion", "write one, such as apps/v1")
	if err == nil {
		_, err = schema.ParseGroupVersion(apiVersion)
	}
	mistakes = appendError(mistakes, err)
	_, err = requiredString(object, "kind", "kind", "write one, such as ConfigMap")
	mistakes = appendError(mistakes, err)

	metadata, ok := object["metadata"].(map[string]any)
	if !ok {
		if present := object["metadata"]; present != nil {
			return append(mistakes, fmt.Errorf("metadata is %s: write a map with a name", TypeName(present)))
		}
		return append(mistakes, errors.New("no metadata.name: give the object a name"))
	}
	return append(mistakes, checkMetadata(metadata)...)
}

func checkMetadata(metadata map[string]any) []error {
	var mistakes []error
	if name, generate := metadata["name"], metadata["generateName"]; (name == nil || name == "") && generate != nil {
		mistakes = append(
			mistakes,
			errors.New(
				"metadata.generateName is not supported, because the object must be found again: write metadata.name",
			),
		)
	} else {
		_, err := requiredString(metadata, "name", "metadata.name", "give the object a name")
		mistakes = appendError(mistakes, err)
	}
	switch namespace := metadata["namespace"].(type) {
	case nil:
		delete(metadata, "namespace")
	case string:
	default:
		mistakes = append(mistakes, fmt.Errorf("metadata.namespace is %s: quote it", TypeName(namespace)))
	}
	for _, field := range []string{"labels", "annotations"} {
		mistakes = append(mistakes, checkStrings(metadata, field)...)
	}
	return mistakes
}

// checkStrings checks the labels or annotations in metadata.
func checkStrings(metadata map[string]any, field string) []error {
	entries, ok := metadata[field].(map[string]any)
	if !ok {
		if present := metadata[field]; present != nil {
			return []error{fmt.Errorf("metadata.%s is %s: write a map", field, TypeName(present))}
		}
		delete(metadata, field)
		return nil
	}
	var mistakes []error
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		switch entry := entries[key].(type) {
		case string:
		case nil:
			entries[key] = ""
		default:
			mistakes = append(mistakes, fmt.Errorf("metadata.%s[%s] is %s: quote it", field, key, TypeName(entry)))
		}
	}
	return mistakes
}

// requiredString returns a field that must be a non-empty string.
func requiredString(fields map[string]any, field, path, advice string) (string, error) {
	switch content := fields[field].(type) {
	case nil:
		return "", fmt.Errorf("no %s: %s", path, advice)
	case string:
		if content == "" {
			return "", fmt.Errorf("%s is empty: %s", path, advice)
		}
		return content, nil
	default:
		return "", fmt.Errorf("%s is %s: quote it", path, TypeName(content))
	}
}

func appendError(errs []error, err error) []error {
	if err == nil {
		return errs
	}
	return append(errs, err)
}

// TypeName describes the type of a decoded value for error messages.
func TypeName(data any) string {
	switch data.(type) {
	case string:
		return "a string"
	case bool:
		return "a boolean"
	case int64, float64:
		return "a number"
	case []any:
		return "a list"
	case map[string]any:
		return "a map"
	default:
		return fmt.Sprintf("a %T", data)
	}
}

// maxAnnotations is the API server's limit for the total size of an object's annotations in bytes.
const maxAnnotations = 256 * 1024

// CheckAnnotations returns an error that names the largest annotation. The error of the API server would not name
// the annotation.
func CheckAnnotations(annotations map[string]string) error {
	total, largest := 0, ""
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		total += len(key) + len(annotations[key])
		if len(annotations[key]) > len(annotations[largest]) {
			largest = key
		}
	}
	if total <= maxAnnotations {
		return nil
	}
	return fmt.Errorf("annotations have %d bytes, of which %s has %d; the limit is %d: store the data elsewhere",
		total, largest, len(annotations[largest]), maxAnnotations)
}
