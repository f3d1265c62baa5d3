// Package discovery reads the types that an API server serves. No other package uses the discovery API. All identities
// of a connection share one Reader, which sends its requests with the identity of the connection.
//
// The methods of a Reader cache their results in different ways:
//
//   - Mapper and Scope cache a type until Reset. A request for a path of Mapper must be sent with WithRenewal. After a
//     404 for that path, WithRenewal resets the Mapper and sends the request again.
//   - For a kind without a version, Mapper reads the versions of the group, and the resources of each version. It
//     does not read other groups. The resources are cached for two seconds.
//   - Capabilities are read once, and again after watch events on definitions. Renderings use them.
//   - Serves uses the cached types of Mapper, unless the capabilities do not contain the type.
//   - HasStatusSubresource and Verbs share lists of resources that are at most two seconds old. No deletion
//     depends on them.
//   - Resources and AggregatedKinds are always read from the API server. Decisions about deletions, and the recovery of
//     a lost inventory, depend on them. If the discovery of a group fails, they return an error instead of an
//     incomplete result.
//   - Types are the schemas of kinds, compiled from the OpenAPI documents of their groups and versions. They are asked
//     for only before a write of a revision that is not applied yet, and dropped when nobody uses them. A schema may be
//     outdated, so nothing is refused because of a schema alone; see ForgetType.
package discovery
