// Package lookup records, identifies and watches the objects that a rendering looked up in clusters.
//
// A Recorder stands between a generator and the clusters: it reads each object once, as the identity of the
// component. Its answers are reduced to digests (Lookups), which the status records. After a restart the recorded
// look-ups are read again and compared, so that an unchanged component is not rendered. A Follower watches the
// metadata of the looked-up objects and wakes the component when one of them changes.
//
// The component's own dependents never change a look-up: a Secret that a chart looks up or generates would otherwise
// start a rendition. The package imports target, discovery, observe and condition, and no package above.
package lookup
