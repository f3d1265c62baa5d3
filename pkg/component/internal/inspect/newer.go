package inspect

import "k8s.io/apimachinery/pkg/util/resourceversion"

// Newer reports whether resource version a is newer than b. It returns true if they cannot be compared: a needless pass
// does no harm, but a missed event does.
func Newer(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err != nil && a != b || order > 0
}
