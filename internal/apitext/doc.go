// Package apitext recognises answers of the API server that differ in their text only.
//
// An answer has a code, a reason, and causes, and programs decide by these. For the cases below Kubernetes gives the
// same code and reason to different things, so the message is the only source. All code that decides by an English
// message is in this package: each function checks the structured part of the answer first, and then the text of the
// API server, as it is in the versions of Kubernetes that we support. No function matches a message that Fairlead
// writes, except DryRunUnsupported: the dry-run guard answers as a webhook does.
//
// The package imports apimachinery alone.
package apitext
