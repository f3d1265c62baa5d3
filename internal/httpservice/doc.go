// Package httpservice calls HTTP services that users provide: functions and handlers of externals. It holds what all
// calls need: the address and the credentials of a service, the limits of a call, and errors that say whether the call
// may have had an effect and whether it may succeed later.
//
// A call is one POST. Redirects are not followed and the proxy of the environment is not used, so credentials reach
// only the host in the URL. Errors contain neither credentials nor the body of an answer.
package httpservice
