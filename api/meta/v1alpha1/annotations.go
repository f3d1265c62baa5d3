package v1alpha1

// Annotations of a component. The name of the reconciler is their prefix, as in <reconciler>/suspend-reason. These
// annotations are not inputs of the rendering.
const (
	// AnnotationReconcileRequested starts a pass when its value changes.
	AnnotationReconcileRequested = "reconcile-requested-at"
	// AnnotationAcceptUnknown lists API groups, separated by commas. The deletion of the component may delete definitions
	// of these groups although their instances cannot be listed, because their API does not answer or no version is
	// served. Foreign instances that can be listed still block the deletion.
	AnnotationAcceptUnknown = "accept-unknown"
	// AnnotationReconcileAcknowledge requests that the end of a requested pass is shown in the status. If its value is
	// equal to the value of AnnotationReconcileRequested, the pass writes this value to lastHandledReconcileAt in the
	// status. Without this annotation, a requested pass does not write the status unless something else changed.
	AnnotationReconcileAcknowledge = "reconcile-acknowledge"
	// AnnotationSuspendReason is the reason why a component is suspended. The conditions of the component repeat it.
	AnnotationSuspendReason = "suspend-reason"
	// AnnotationResolveExternal contains the answers of a person to uncertain creates of externals, as a JSON object whose
	// keys are Kind/name: {"Schema/orders": {"token": "...", "id": "4711"}}, or "absent": true in place of the id. An
	// answer counts only for the create with this token.
	AnnotationResolveExternal = "resolve-external"
)
