package component

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Matcher decides whether a live object must be written, in place of the comparison of the fields that the component
// owns. desired is the manifest with the labels and annotations of the component. Both objects are copies.
//
// A Matcher is called in each pass, for dependents that exist and were applied before, and with each response of the
// API server. It must decide by its arguments alone, and must neither wait nor send requests. A changed manifest is
// always written, unless Verdict.LeaveUntil holds it up. If a Matcher always returns a difference, each pass writes the
// object; writes that follow each other closely are delayed more and more, as other repair conflicts are. After a panic
// the object is left unchanged, and counts as failed.
type Matcher func(desired, live *unstructured.Unstructured) Verdict

// Verdict is the result of a Matcher.
type Verdict struct {
	// Differs says how the object differs from its manifest. The object is written if Differs is not empty.
	Differs string
	// LeaveUntil is the time before which an existing object must not be written, also if its manifest changed. A pass is
	// made at that time. An object that is deleted by others is created again without delay.
	LeaveUntil time.Time
}
