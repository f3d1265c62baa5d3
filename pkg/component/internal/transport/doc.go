// Package transport has http.RoundTrippers for connections to API servers:
//
//   - the request timeout ends requests that get no response in time;
//   - the answer limit ends responses that are too large, alone or together, redirects, and responses of servers that
//     are no API servers; it is for the servers in kubeconfigs;
//   - the dry-run check refuses a dry run of an apply that the server of the type might execute as a write;
//   - dry-run only turns creates and updates into dry runs, and refuses all other writes.
//
// All clients of a connection use its transports, so that no code can bypass them. The package decides from the HTTP
// request, from the memory that is free, and from the APIService and the OpenAPI document of the group and version in
// the path of the request.
package transport
