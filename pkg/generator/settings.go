package generator

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Settings are the settings of a dependent as typed values, for generators in Go. docs/reference/settings.md describes
// them. A field that is zero sets nothing, so that the default applies.
type Settings struct {
	Order                   int
	PurgeOrder, DeleteOrder *int
	PurgeFailed             bool
	Timeout                 time.Duration
	ReapplyInterval         *time.Duration

	ReconcilePolicy metav1alpha1.ReconcilePolicy
	UpdatePolicy    metav1alpha1.UpdatePolicy
	AdoptionPolicy  metav1alpha1.AdoptionPolicy
	DeletePolicy    metav1alpha1.DeletePolicy
	PrunePolicy     metav1alpha1.PrunePolicy
	// Ignore are the paths of fields that are left to others.
	Ignore []string

	Phase      manifests.Phase
	PhaseOrder *int

	DependsOn        []string
	DependsOnGroup   string
	DependsOnTimeout time.Duration

	// The conditions are CEL expressions. StatusHints are the elements of the annotation status-hint.
	IncludeWhen, ActiveWhen string
	ReadyWhen, GoneWhen     string
	StatusHints             []string

	// Exports are CEL expressions by the names of exports.
	Exports    map[string]string
	Bind       bool
	ExternalID string
}

// Annotate sets the settings as annotations of an object. The name of the reconciler is their prefix. Other annotations
// stay, also settings that s does not set. The values are not checked: the reconciler and generatortest do that.
func (s Settings) Annotate(object metav1.Object, reconciler string) {
	annotations := maps.Clone(object.GetAnnotations())
	for name, value := range s.values() {
		if value == "" {
			continue
		}
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[reconciler+"/"+name] = value
	}
	object.SetAnnotations(annotations)
}

// values returns the values of the annotations by their names, without the prefix. The value of a setting that is not
// set is empty.
func (s Settings) values() map[string]string {
	exports := make([]string, 0, len(s.Exports))
	for _, name := range slices.Sorted(maps.Keys(s.Exports)) {
		exports = append(exports, name+"="+s.Exports[name])
	}
	return map[string]string{
		manifests.AnnotationOrder:            orUnset(s.Order != 0, strconv.Itoa(s.Order)),
		manifests.AnnotationPurgeOrder:       number(s.PurgeOrder),
		manifests.AnnotationDeleteOrder:      number(s.DeleteOrder),
		manifests.AnnotationPurgeFailed:      orUnset(s.PurgeFailed, "true"),
		manifests.AnnotationPhase:            string(s.Phase),
		manifests.AnnotationPhaseOrder:       number(s.PhaseOrder),
		manifests.AnnotationTimeout:          orUnset(s.Timeout != 0, s.Timeout.String()),
		manifests.AnnotationReapplyInterval:  interval(s.ReapplyInterval),
		manifests.AnnotationReconcilePolicy:  string(s.ReconcilePolicy),
		manifests.AnnotationUpdatePolicy:     string(s.UpdatePolicy),
		manifests.AnnotationAdoptionPolicy:   string(s.AdoptionPolicy),
		manifests.AnnotationDeletePolicy:     string(s.DeletePolicy),
		manifests.AnnotationPrunePolicy:      string(s.PrunePolicy),
		manifests.AnnotationDependsOn:        strings.Join(s.DependsOn, ","),
		manifests.AnnotationDependsOnGroup:   s.DependsOnGroup,
		manifests.AnnotationDependsOnTimeout: orUnset(s.DependsOnTimeout != 0, s.DependsOnTimeout.String()),
		manifests.AnnotationIncludeWhen:      s.IncludeWhen,
		manifests.AnnotationActiveWhen:       s.ActiveWhen,
		manifests.AnnotationReadyWhen:        s.ReadyWhen,
		manifests.AnnotationGoneWhen:         s.GoneWhen,
		manifests.AnnotationStatusHint:       strings.Join(s.StatusHints, ","),
		manifests.AnnotationIgnore:           strings.Join(s.Ignore, ","),
		manifests.AnnotationExport:           strings.Join(exports, "\n"),
		manifests.AnnotationBind:             orUnset(s.Bind, "true"),
		manifests.AnnotationExternalID:       s.ExternalID,
	}
}

func orUnset(set bool, value string) string {
	if set {
		return value
	}
	return ""
}

func number(n *int) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(*n)
}

func interval(d *time.Duration) string {
	if d == nil {
		return ""
	}
	return d.String()
}
