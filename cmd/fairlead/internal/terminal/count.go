package terminal

import "fmt"

// Count returns a number with a noun, which gets an s unless the number is 1: "1 object" and "2 objects".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
