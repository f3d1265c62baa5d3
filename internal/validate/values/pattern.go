package values

import (
	"sync"

	"github.com/fairlead-io/fairlead/internal/bounded"
)

const (
	// maxPatterns and maxInstructions bound the regular expressions of a process, because the validator never forgets one.
	maxPatterns     = 2000
	maxInstructions = 500_000
)

// patterns are the regular expressions that a validator may compile.
var patterns = struct {
	sync.Mutex
	known        map[string]bool
	instructions int
}{known: map[string]bool{}}

// allowPattern reports whether the validator may compile a regular expression. Values are not compared with others, and
// so are found at the write.
func allowPattern(pattern string) bool {
	patterns.Lock()
	defer patterns.Unlock()
	if pattern == "" || patterns.known[pattern] {
		return true
	}
	size, err := bounded.Pattern(pattern)
	if err != nil || len(patterns.known) >= maxPatterns || patterns.instructions+size > maxInstructions {
		return false
	}
	patterns.known[pattern] = true
	patterns.instructions += size
	return true
}
