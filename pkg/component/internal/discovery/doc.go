// Package discovery reads the types that an API server serves. No other package uses the discovery API. A connection
// has one Reader, which all its identities share. It reads as the identity of the connection.
//
// The answers may be cached, depending on their use:
//
//   - Mapper and Scope keep a type until Reset. Send requests for a path of Mapper by WithRenewal, which resets it after
//     a 404 for that path, and asks again.
//   - A kind is searched in any version by asking the API server which versions its group has, and what these serve; the
//     latter is kept for two seconds. The whole of discovery is not read for that.
//   - Capabilities are read once, and again after events on definitions. Renderings use them.
//   - HasStatusSubresource and Verbs share lists of resources that are at most two seconds old. No deletion
//     depends on them.
//   - Resources and AggregatedKinds are always read from the API server. Decisions about deletions, and the recovery of
//     a lost inventory, depend on them. If the discovery of a group fails, they return an error instead of treating the
//     group as one without types.
//
// The package imports pkg/manifests and pkg/generator, for their types, and no other package of this repository.
// No other package below pkg/component imports the discovery client of client-go.
package discovery
