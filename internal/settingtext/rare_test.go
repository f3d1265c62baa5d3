package settingtext_test

import (
	"testing"

	"github.com/fairlead-io/fairlead/internal/settingtext"
)

// A manifest without rare settings has none in memory.
func TestSettingsWithoutRareSettings(t *testing.T) {
	s, err := settingtext.Parse("shop.example.com", map[string]string{
		"shop.example.com/order": "1", "shop.example.com/bind": "false", "shop.example.com/delete-policy": "orphan",
	})
	if err != nil || s.Rare != nil {
		t.Errorf("the settings have %+v, %v", s.Rare, err)
	}
}
