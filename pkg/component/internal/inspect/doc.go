// Package inspect derives the facts about a live object that plans are made from: its owner, our entries in its managed
// fields, its readiness, and how it compares with its manifest.
//
// Object and Metadata reduce an object to plan.Observed. Compare adds the facts that depend on the manifest, and
// ConflictingManagers finds the managers of fields that we no longer own.
//
// The package is pure: it only reads the objects that it gets. It imports plan, ready, manifests and internal/fieldset.
// The rule that it enforces: no data of an object leaves it, only hashes, names and field paths.
package inspect
