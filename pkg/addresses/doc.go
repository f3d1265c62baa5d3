// Package addresses limits the addresses to which a program connects for its users. Users of an operator write URLs
// into components. The operator can reach services that the users cannot reach, such as the metadata service of a
// cloud.
//
// A Policy checks each address at the moment of the connection, after the host was resolved, so neither a DNS name nor
// a redirect leads around it. The zero value refuses loopback, link-local, metadata, unspecified, multicast and
// broadcast addresses, and allows private ranges. A proxy resolves names itself, so behind a proxy only addresses in
// URLs and a few well-known names are checked.
//
// Errors name the host in the URL and the rule, and neither resolved addresses nor DNS servers. Errors of connections
// to a proxy are those of net/http, which name the address of the proxy.
package addresses
