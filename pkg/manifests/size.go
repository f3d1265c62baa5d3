package manifests

import (
	"fmt"
	"maps"
	"slices"
)

// maxAnnotations is how many bytes the annotations of an object may have together; the API server has this limit.
const maxAnnotations = 256 * 1024

// checkAnnotationSize names the annotation that is too large; the API server does not.
func checkAnnotationSize(annotations map[string]string) error {
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
	return fmt.Errorf("annotations have %d bytes, of which %s has %d; all together may have %d: put the data elsewhere",
		total, largest, len(annotations[largest]), maxAnnotations)
}
