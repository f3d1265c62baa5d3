package shop

// stock is embedded in Shop.
type stock struct{ shelves []int }

func (s stock) count() int { return len(s.shelves) }

// Empty has a caller in a test alone.
func (s stock) Empty() bool { return s.count() == 0 }

// price has one caller, in another file.
func price(count int) int {
	if count == 0 {
		return price(1)
	}
	return count * base
}

// base makes this file depend on the other.
var base = local()

// label is plain data: it has many fields, and can be printed.
type label struct {
	a, b, c, d, e, f, g, h, i, j int
}

func (l label) String() string { return "label" }
