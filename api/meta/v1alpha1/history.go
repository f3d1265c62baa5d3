package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RevisionOutcome is the result of applying a revision. Clients must tolerate unknown values.
type RevisionOutcome string

// The outcomes of a revision.
const (
	// RevisionProgressing: the revision is being applied, or its dependents are not all ready yet.
	RevisionProgressing RevisionOutcome = "Progressing"
	// RevisionReady: all dependents of the revision were ready at the same time. The history does not contain later
	// changes of their readiness.
	RevisionReady RevisionOutcome = "Ready"
	// RevisionFailed: the component is Stalled, or was Stalled when the next revision began. An entry for inputs that
	// could not be rendered also has this outcome.
	RevisionFailed RevisionOutcome = "Failed"
	// RevisionSuperseded: the next revision began before this revision was ready.
	RevisionSuperseded RevisionOutcome = "Superseded"
)

// RevisionRecord is an entry of the history of a component: a revision and its outcome.
type RevisionRecord struct {
	// Revision is the number of the revision. It is zero if the inputs could not be rendered. Such inputs make no
	// revision, and the dependents stay unchanged.
	Revision int64 `json:"revision"`

	// Generation is the generation of the component from which the revision was rendered. If two revisions have the same
	// generation, the content of a reference or source has changed between them.
	// +optional
	Generation int64 `json:"generation,omitempty"`

	// Digest identifies the inputs of the revision.
	// +optional
	Digest string `json:"digest,omitempty"`

	// Source is the name of the rendered source, if the operator provides one. SourceDigest identifies the content of the
	// source.
	// +optional
	Source string `json:"source,omitempty"`
	// +optional
	SourceDigest string `json:"sourceDigest,omitempty"`

	// SourceVersion is the name and the version of the rendered source, such as "web-1.2.0" for a chart. It is empty if
	// the generator knows no version.
	// +optional
	SourceVersion string `json:"sourceVersion,omitempty"`

	// Changes are the values that differ from those of the revision before, such as "replicas: 1 → 2". Values from Secrets
	// and values with the name of a secret are named, not shown. Changes is empty if the inputs changed while the operator
	// did not run.
	// +optional
	// +listType=atomic
	Changes []string `json:"changes,omitempty"`

	// Adopted lists the existing objects that the component took over while this was its latest revision, each with the
	// one who had it, such as "ConfigMap shop/settings from the Helm release shop/web". It has at most ten entries;
	// AdoptedCount counts all.
	// +optional
	// +listType=atomic
	Adopted []string `json:"adopted,omitempty"`
	// +optional
	AdoptedCount int32 `json:"adoptedCount,omitempty"`

	// Started is the time of the first attempt to apply the revision, or of the first failed rendering.
	Started metav1.Time `json:"started"`

	// Ended is the time when the revision was ready for the first time, or when the next revision began, whichever was
	// earlier. An entry for a failed rendering ends when the inputs of the previous revision are restored, or when the
	// next entry begins.
	// +optional
	Ended *metav1.Time `json:"ended,omitempty"`

	// Outcome is Progressing, Ready, Failed or Superseded.
	Outcome RevisionOutcome `json:"outcome"`

	// Reason is the reason of the failure if the outcome is Failed.
	// +optional
	Reason string `json:"reason,omitempty"`
}
