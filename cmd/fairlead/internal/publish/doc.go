// Package publish writes a source and values into a cluster as a component (fairlead apply).
//
// An archive behind a URL is named in the component, with its digest. A local folder becomes an immutable ConfigMap
// whose name depends on its content, or several of them if it is large. All of them exist before one write of the
// component switches source and values together. Old ConfigMaps are deleted afterwards, except for those that a person
// may go back to.
package publish
