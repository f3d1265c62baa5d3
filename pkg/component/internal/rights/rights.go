// Package rights says what to do about requests that the API server refuses.
package rights

import "strings"

// Grant is the advice where the message names who lacks which right.
const Grant = "grant it to that user"

// Missing says that a message tells of a right that a user lacks: other refusals, such as those of a webhook, are no less forbidden. Nothing but
// the text tells.
func Missing(message string) bool { return strings.Contains(message, `" cannot `) }

// Advice says what to do about a request that was refused for want of a right. Who lacks which right the API server says in its message. Where that
// is the right to act as somebody else, whom it need not name, nothing helps that is granted to them: as is who that is, empty where the caller does
// not know. Everything else is for the caller to advise. Nothing but the text tells.
func Advice(message, as, otherwise string) string {
	switch {
	case !strings.Contains(message, `" cannot impersonate`):
		return otherwise
	case as == "":
		return "allow that user to impersonate others"
	}
	return "allow that user to impersonate " + as + ", or have the component act as somebody else"
}
