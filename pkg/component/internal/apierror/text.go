package apierror

import (
	"errors"
	"net"
)

// StableText returns the text of the error of a request. A failed connection has the same text at each attempt: without
// the address and the port of the client, which differ each time. Statuses may contain it, because a status that
// changes with each attempt starts a pass each time.
func StableText(err error) string {
	if name, ok := errors.AsType[*net.DNSError](err); ok {
		return "the name " + name.Name + " cannot be resolved"
	}
	if failed, ok := errors.AsType[*net.OpError](err); ok {
		return "the connection to the API server failed: " + failed.Err.Error()
	}
	return err.Error()
}
