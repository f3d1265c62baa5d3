package passerror

import (
	"strings"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

// maxMessage is the maximum length of the message of a condition, in bytes.
const maxMessage = 4096

// Message returns text in the form of a condition message: in a single line, and shortened to the maximum length.
func Message(text string) string {
	return Truncate(strings.ReplaceAll(text, "\n", "; "), maxMessage)
}

// Truncate shortens text to at most limit bytes of valid UTF-8, and cuts no word such as the name of an object. A
// shortened text ends with " …".
func Truncate(text string, limit int) string {
	if len(text) <= limit {
		return strings.ToValidUTF8(text, "")
	}
	return plan.Head(text, limit-len(" …")) + " …"
}
