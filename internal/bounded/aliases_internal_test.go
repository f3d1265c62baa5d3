package bounded

import "testing"

func TestTextsWithoutAnchorsAreNotParsed(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       bool
	}{
		{"an anchor and an alias", "a: &a b\nc: *a\n", true},
		{"in a flow", "[&a b,*a]", true},
		{"in a flow after a key", `{"a":&a 1,"b":*a}`, true},
		{"names that begin with a dash or an underscore", "a: &-a b\nc: *_a\n", true},
		{"after an escaped line break", `a: "x:\n&a y\nz:\n*a"`, true},
		{"after an escaped line break in a nested string", `a: "\"x:\\n&a y\\nz:\\n*a\""`, true},
		{"after a line break as a number", `a: "x:\x0a&a y\U0000000A*a"`, true},
		{"in UTF-16, little endian", "a\x00:\x00 \x00&\x00a\x00 \x00*\x00a\x00", true},
		{"in UTF-16, big endian", "\x00a\x00:\x00 \x00&\x00a\x00 \x00*\x00a", true},
		{"signs between words", "description: a & b, 2 * 3\n", false},
		{"signs in words", "url: http://a?b=c&d=e\npointer: a*b\n", false},
		{"anchors without aliases", "description: 'a &b, 2 * 3'\n", false},
		{"a schedule", "schedule: '*/5 * * * *'\nx: &a b\n", false},
		{"signs at the end", "a: b &\nc: *", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := mayHaveAliases([]byte(c.text)); got != c.want {
				t.Errorf("mayHaveAliases(%q) is %t, want %t", c.text, got, c.want)
			}
		})
	}
}
