package manifests_test

import (
	"testing"
	"unsafe"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// A rendered object stays in memory as long as its component exists, with all fields of Object and Settings. Fields
// that few objects use belong behind a pointer, such as RareSettings.
func TestSizeOfAnObject(t *testing.T) {
	const limit = 344
	if got := unsafe.Sizeof(manifests.Object{}); got > limit {
		t.Errorf("Object has %d bytes, more than %d", got, limit)
	}
}
