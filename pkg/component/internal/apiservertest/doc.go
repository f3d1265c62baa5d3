// Package apiservertest is a fake API server for tests of the packages that act on dependents. It serves discovery, and
// it stores objects: list, watch, get, create, update, server-side apply and delete, with resource versions, UIDs,
// preconditions and managed fields. It runs no controllers and no admission, and a server-side apply replaces lists in
// objects as a whole.
//
// Real clients of client-go send their requests to it by HTTP, and a test can look at the requests and refuse some. A
// test that depends on more than this needs a real API server (test/conformance).
package apiservertest
