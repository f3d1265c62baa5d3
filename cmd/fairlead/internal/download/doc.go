// Package download fetches the archive behind a URL on the command line. It has the limits, the rules for redirects and
// the checks of the operator, which fetches the same archive for spec.source.http.
//
// No error contains the user or the query of a URL, because these may be credentials. A URL that the operator could not
// fetch is refused before the download.
package download
