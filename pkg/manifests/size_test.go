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

// A manifest without rare settings has none in memory.
func TestSettingsWithoutRareSettings(t *testing.T) {
	s, err := manifests.ParseSettings("shop.example.com", map[string]string{
		"shop.example.com/order": "1", "shop.example.com/bind": "false", "shop.example.com/delete-policy": "orphan",
	})
	if err != nil || s.Rare != nil {
		t.Errorf("the settings have %+v, %v", s.Rare, err)
	}
}
