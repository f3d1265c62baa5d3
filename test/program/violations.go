package program

import "fmt"

// Violations is an error that lists everything that is wrong at the end of a run.
type Violations []string

// MaxShown is the maximum number of listed violations.
const MaxShown = 20

// Error implements error.
func (v Violations) Error() string {
	text := fmt.Sprintf("%d things are wrong:", len(v))
	for i, what := range v {
		if i == MaxShown {
			return text + "\n  ..."
		}
		text += "\n  " + what
	}
	return text
}
