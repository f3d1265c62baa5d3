package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RevisionOutcome is what became of a revision. It is an open string.
type RevisionOutcome string

// The outcomes of a revision.
const (
	// RevisionProgressing: it is being applied, or waited for.
	RevisionProgressing RevisionOutcome = "Progressing"
	// RevisionReady: all its dependents were ready once. What became of them later is no part of the history.
	RevisionReady RevisionOutcome = "Ready"
	// RevisionFailed: it is stalled, or was when the next one began; or its inputs do not render, so that it never was
	// one.
	RevisionFailed RevisionOutcome = "Failed"
	// RevisionSuperseded: the next one began before it was ready.
	RevisionSuperseded RevisionOutcome = "Superseded"
)

// RevisionRecord tells what became of a revision.
type RevisionRecord struct {
	// Revision is its number. It is zero where inputs did not render: they made no revision, and what was applied
	// before stays.
	Revision int64 `json:"revision"`

	// Generation of the component whose spec it comes from. Another revision of the same generation has other contents
	// of what the spec refers to.
	// +optional
	Generation int64 `json:"generation,omitempty"`

	// Digest identifies its inputs.
	// +optional
	Digest string `json:"digest,omitempty"`

	// Source names what was rendered, as far as the operator tells, and SourceDigest identifies the content of that.
	// +optional
	Source string `json:"source,omitempty"`
	// +optional
	SourceDigest string `json:"sourceDigest,omitempty"`

	// Started is when it was about to be applied for the first time, or when it did not render for the first time.
	Started metav1.Time `json:"started"`

	// Ended is when it was ready for the first time, or the next one began before that. What did not render ends when
	// the inputs of the revision before it are back.
	// +optional
	Ended *metav1.Time `json:"ended,omitempty"`

	// Outcome is Progressing, Ready, Failed or Superseded.
	Outcome RevisionOutcome `json:"outcome"`

	// Reason is the reason why it is not ready where the outcome is Failed.
	// +optional
	Reason string `json:"reason,omitempty"`
}
