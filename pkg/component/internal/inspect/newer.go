package inspect

import "k8s.io/apimachinery/pkg/util/resourceversion"

// Newer reports whether resource version a is newer than b. Newer returns true if a and b differ and cannot be
// compared, because an unnecessary pass does no harm, but a missed watch event does.
func Newer(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err != nil && a != b || order > 0
}

// Older reports whether resource version a is older than b. Older returns false if a and b cannot be compared.
func Older(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order < 0
}
