package settingtext

import (
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/marks"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// settingNames are the names of the annotations that are settings.
var settingNames = []string{
	manifests.AnnotationOrder,
	manifests.AnnotationApplyOrder,
	manifests.AnnotationPurgeOrder,
	manifests.AnnotationPurgeFailed,
	manifests.AnnotationDeleteOrder,
	manifests.AnnotationReconcilePolicy,
	manifests.AnnotationUpdatePolicy,
	manifests.AnnotationAdoptionPolicy,
	manifests.AnnotationDeletePolicy,
	manifests.AnnotationPrunePolicy,
	manifests.AnnotationIgnore,
	manifests.AnnotationReapplyInterval,
	manifests.AnnotationTimeout,
	manifests.AnnotationStatusHint,
	manifests.AnnotationPhase,
	manifests.AnnotationPhaseOrder,
	manifests.AnnotationIncludeWhen,
	manifests.AnnotationActiveWhen,
	manifests.AnnotationDependsOn,
	manifests.AnnotationDependsOnGroup,
	manifests.AnnotationDependsOnTimeout,
	manifests.AnnotationReadyWhen,
	manifests.AnnotationGoneWhen,
	manifests.AnnotationExport,
	manifests.AnnotationBind,
	manifests.AnnotationExternalID,
}

// Names returns the names of the annotations that are settings, without the reconciler's prefix.
func Names() []string { return slices.Clone(settingNames) }

// ownNames are the names of all labels and annotations that identify a dependent or configure how it is applied.
var ownNames = slices.Concat(settingNames, []string{
	manifests.LabelOwnerID,
	marks.AnnotationDigest,
	marks.AnnotationObject,
	marks.AnnotationIgnoredByOption,
	marks.AnnotationIgnoredBySpec,
	marks.AnnotationReleasedBy,
})

// IsMark reports whether the key of a label or an annotation is one of the names that the reconciler writes.
func IsMark(reconciler, key string) bool {
	name, ours := strings.CutPrefix(key, reconciler+"/")
	return ours && slices.Contains(ownNames, name)
}
