package rights

import "github.com/fairlead-io/fairlead/internal/apitext"

// Grant is the advice for a refusal whose message names the user and the missing right.
const Grant = "grant it to that user"

// Advice returns what to do about a request that was refused because a right is missing, given the message of the API
// server, which names the user and the right. If the right to impersonate is missing, a right granted to the
// impersonated user does not help: the advice then is to allow the impersonation of as, which is empty if the caller
// does not have the name. For all other rights it is the caller's own advice.
func Advice(message, as, otherwise string) string {
	switch {
	case !apitext.MissingImpersonation(message):
		return otherwise
	case as == "":
		return "allow that user to impersonate others"
	}
	return "allow that user to impersonate " + as + ", or have the component act as somebody else"
}
