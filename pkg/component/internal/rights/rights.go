package rights

import "github.com/fairlead-io/fairlead/internal/apitext"

// Grant is the advice for a refusal whose message names the user and the missing right.
const Grant = "grant it to that user"

// Advice returns advice for a request that was refused because a right is missing. message is the message of the API
// server, which names the user and the right. If the right to impersonate is missing, a right for the impersonated user
// does not help, so the advice is to allow the impersonation. as is the user to impersonate, empty if the caller does
// not know the name. For all other rights Advice returns otherwise.
func Advice(message, as, otherwise string) string {
	switch {
	case !apitext.MissingImpersonation(message):
		return otherwise
	case as == "":
		return "allow that user to impersonate others"
	}
	return "allow that user to impersonate " + as + ", or have the component act as somebody else"
}
