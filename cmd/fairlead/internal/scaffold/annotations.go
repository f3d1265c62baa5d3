package scaffold

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// readyMade is the name of the ready-made operator's reconciler. A chart may have settings for it.
const readyMade = "fairlead.io"

// settings matches the annotations that are settings for the ready-made operator.
var settings = regexp.MustCompile(`\b` + regexp.QuoteMeta(readyMade) + `/(` + strings.Join([]string{
	manifests.AnnotationOrder, manifests.AnnotationApplyOrder, manifests.AnnotationPurgeOrder,
	manifests.AnnotationPurgeFailed, manifests.AnnotationDeleteOrder,
	manifests.AnnotationReconcilePolicy, manifests.AnnotationUpdatePolicy, manifests.AnnotationAdoptionPolicy,
	manifests.AnnotationDeletePolicy,
	manifests.AnnotationReapplyInterval, manifests.AnnotationTimeout, manifests.AnnotationStatusHint, manifests.AnnotationPhase,
	manifests.AnnotationPhaseOrder,
}, "|") + `)\b`)

// readdress renames settings for the ready-made operator to those of the project's operator, which reads no others:
// without this, a chart would silently lose settings such as a delete policy. The note lists the files; it is empty if
// there are none.
func readdress(o Options, files []File) (note string) {
	var changed []string
	for i, file := range files {
		content := settings.ReplaceAll(file.Content, []byte(o.OperatorName+"/$1"))
		if string(content) != string(file.Content) {
			files[i].Content = content
			changed = append(changed, file.Path)
		}
	}
	if o.OperatorName == readyMade || len(changed) == 0 {
		return ""
	}
	return fmt.Sprintf("annotations of %s in %s were renamed to those of %s, because the operator reads no others",
		readyMade, strings.Join(changed, ", "), o.OperatorName)
}
