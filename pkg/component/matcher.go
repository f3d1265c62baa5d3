package component

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Matcher decides whether a live object must be written, in place of the comparison of the fields that the component
// owns.
//
// A Matcher is called in each pass, for dependents that exist and were applied before, and with each response of the
// API server. It must decide by its argument alone, and must neither wait nor send requests. A changed manifest is
// written, unless the Verdict accepts the live object or holds the write up. If a Matcher always returns a difference,
// each pass writes the object; writes that follow each other closely are delayed more and more, as other repair
// conflicts are. After a panic the object is left unchanged, and counts as failed.
type Matcher func(m Match) Verdict

// Match is what a Matcher compares.
type Match struct {
	// Component is the component, with the type of the reconciler. It must not be changed. It is nil for an Engine.
	Component Component
	// Desired is the manifest, with the labels and annotations of the component, and Live the live object. Both are
	// copies.
	Desired, Live *unstructured.Unstructured
	// Changed is set if the live object was written from another manifest than Desired.
	Changed bool
}

// Verdict is the result of a Matcher.
type Verdict struct {
	// Differs says how the object differs from its manifest. The object is written if Differs is not empty.
	Differs string
	// Accepts is set if the live object need not be written although its manifest changed. The object then counts as
	// applied. It keeps the digest of the manifest that was applied, so the next pass, also after a restart, calls the
	// Matcher again. Accepts has no effect if Differs is not empty, if nothing but the settings of the manifest changed,
	// or if the object is at several points of the order.
	Accepts bool
	// LeaveUntil is the time before which an existing object must not be written, also if its manifest changed. A pass is
	// made at that time. An object that is deleted by others is created again without delay.
	LeaveUntil time.Time
}
