package inspect

import "testing"

func TestOlder(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"9", "10", true}, {"10", "9", false}, {"10", "10", false}, {"a", "b", false}, {"", "1", false},
	} {
		if got := Older(c.a, c.b); got != c.want {
			t.Errorf("Older(%q, %q) = %t, want %t", c.a, c.b, got, c.want)
		}
	}
}
