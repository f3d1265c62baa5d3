package v1alpha1

import "testing"

func TestIsClusterUID(t *testing.T) {
	for text, want := range map[string]bool{
		"0b1e9a4c-5f0d-4d8e-9a55-3f6f0f2c1d7e":   true,
		"0B1E9A4C-5F0D-4D8E-9A55-3F6F0F2C1D7E":   false,
		"0b1e9a4c-5f0d-4d8e-9a55-3f6f0f2c1d7e\n": false,
		"0b1e9a4c5f0d4d8e9a553f6f0f2c1d7e":       false,
		"old-cluster":                            false,
		"":                                       false,
	} {
		if got := IsClusterUID(text); got != want {
			t.Errorf("IsClusterUID(%q) is %t", text, got)
		}
	}
}
