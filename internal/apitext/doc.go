// Package apitext recognises error responses of the API server that can be distinguished only by their text.
//
// An answer has a code, a reason, and causes, and programs decide by these. In the cases that this package recognises,
// Kubernetes uses the same code and reason for different causes, so only the message tells them apart. All code that
// decides by an English message is in this package: each function checks the structured part of the answer first, and
// then the text of the API server, as it is in the versions of Kubernetes that we support. No function matches a
// message that Fairlead writes, except DryRunUnsupported: the dry-run guard answers as a webhook does.
//
// The package imports apimachinery alone.
package apitext
