// Package v1 is API.
package v1

// Shop is API, although it does something.
type Shop struct {
	A, B, C, D, E, F, G int
	On                  func()
}

// Do does something.
func (s *Shop) Do() { s.On() }
