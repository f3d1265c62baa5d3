package rights

import "github.com/fairlead-io/fairlead/internal/apitext"

// Grant is the advice that follows a message with the user and the missing right.
const Grant = "grant it to that user"

// Advice returns advice for a request that was refused because a right is missing. message is the message of the API
// server, which names the user and the right. If the missing right is the right to impersonate, the advice is to allow
// the impersonation, because rights of the impersonated user do not help. as is the user to impersonate; it is empty if
// the caller does not know the name. For all other rights, Advice returns the argument otherwise.
func Advice(message, as, otherwise string) string {
	switch {
	case !apitext.MissingImpersonation(message):
		return otherwise
	case as == "":
		return "allow that user to impersonate others"
	}
	return "allow that user to impersonate " + as + ", or let the component use another identity"
}
