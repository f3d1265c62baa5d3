package inspect

import "k8s.io/apimachinery/pkg/util/resourceversion"

// Newer says whether resource version a is newer than b. Where they cannot be compared the answer is yes: a pass too many is harmless,
// a swallowed event is not.
func Newer(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err != nil && a != b || order > 0
}
