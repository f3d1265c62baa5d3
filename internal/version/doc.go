// Package version contains the version of the build and the path of the module.
//
// Programs print and log the version, send it as their user agent, and write it to the Lease of the operator. A project
// that is scaffolded requires the release that its program has.
package version
