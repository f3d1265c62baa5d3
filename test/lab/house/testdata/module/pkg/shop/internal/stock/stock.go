// Package stock has a struct of an internal package, which is no API, although its fields are exported.
package stock

// Store has a field that is no data.
type Store struct {
	Changed    chan struct{}
	Name, Kind string
	Größe      int // This line has 120 columns, and more bytes: ..........................................................
	More       int // This line has 121 columns: ...........................................................................
}
