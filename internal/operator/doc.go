// Package operator is the ready-made operator: it renders Components with the engine that fits their source, and registers their
// reconciler.
package operator
