package plural

import "strconv"

// Of returns a number with a noun, which gets an s unless the number is 1: "1 object" and "2 objects".
func Of(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
