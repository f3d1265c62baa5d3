package plan

import (
	"testing"
	"unsafe"
)

// An observed object stays in memory as long as its component exists, with all fields of Observed. Fields that few
// objects use belong behind a pointer.
func TestSizeOfAnObservedObject(t *testing.T) {
	const limit = 352 // The Go runtime allocates 352 bytes for all sizes from 321 bytes.
	if got := unsafe.Sizeof(Observed{}); got > limit {
		t.Errorf("Observed has %d bytes, more than %d", got, limit)
	}
}
