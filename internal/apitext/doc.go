// Package apitext recognises error responses of the API server that can be distinguished only by their text.
//
// An error response has a code, a reason and causes, and programs usually decide by these. In the cases of this
// package, Kubernetes uses the same code and reason for different problems, so that only the message distinguishes
// them. All code that decides by an English message is in this package. Each function first checks the structured part
// of the response, and then the text of the message in the supported versions of Kubernetes. The functions match only
// messages of Kubernetes, with an exception: DryRunUnsupported also matches the message of Fairlead's dry-run check.
package apitext
