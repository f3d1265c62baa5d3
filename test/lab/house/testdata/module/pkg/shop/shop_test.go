package shop

import "testing"

// This line is wide, and is one of a test: ..........................................................................................................
func TestEmpty(t *testing.T) {
	if !(stock{}).Empty() {
		t.Fail()
	}
}
