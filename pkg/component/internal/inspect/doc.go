// Package inspect derives the facts about a live object that package plan needs: its owner, our entries in its managed
// fields, its readiness, and the result of the comparison with its manifest.
//
// Object and Metadata reduce an object to plan.Observed. Compare adds the facts that depend on the manifest, and
// ConflictingManagers finds the managers of fields that we no longer own.
//
// The package is pure: it only reads the objects that it gets. The results of the package contain identifiers, hashes,
// field paths and status messages, but no other data of the object.
package inspect
