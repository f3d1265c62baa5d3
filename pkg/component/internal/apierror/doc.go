// Package apierror classifies the errors of requests to an API server: what failed, and whether a retry can help.
//
// Classify returns a failure in the terms of the plan, with a message for users. The package looks at errors only: it
// sends no request, and knows neither the object that a request was about nor the identity that sent it. Package
// execute adds what a failure means for the written object. Package passerror asks whether a failure is temporary.
package apierror
