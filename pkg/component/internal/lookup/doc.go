// Package lookup reads, identifies and watches the objects that a rendering looked up in clusters.
//
// A generator looks up objects through AskedObjects, which reads each object once, with the identity of the component.
// The results of the look-ups are reduced to digests (Lookups), which the status contains. After a restart the look-ups
// in the status are read again and compared, so that a component is not rendered again if the looked-up objects are
// unchanged. Follow watches the metadata of the looked-up objects, and a change of one of them starts a pass over the
// component.
//
// The exports of dependents that a rendering asked for are stored with their values (AskedExports). Package applier
// compares them with the values of the live objects.
//
// Changes of the component's own dependents are ignored by look-ups. Otherwise a chart that looks up a Secret, and
// generates it if it does not exist, would be rendered again after it created the Secret.
package lookup
