package scaffold

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// readyMade is the reconciler's name of the ready-made operator, whose settings a chart may carry.
const readyMade = "fairlead.io"

// settings matches those annotations by which manifests tell the ready-made operator what to do with them.
var settings = regexp.MustCompile(`\b` + regexp.QuoteMeta(readyMade) + `/(` + strings.Join([]string{
	manifests.AnnotationOrder, manifests.AnnotationApplyOrder, manifests.AnnotationPurgeOrder, manifests.AnnotationDeleteOrder,
	manifests.AnnotationReconcilePolicy, manifests.AnnotationUpdatePolicy, manifests.AnnotationAdoptionPolicy, manifests.AnnotationDeletePolicy,
	manifests.AnnotationReapplyInterval, manifests.AnnotationStatusHint, manifests.AnnotationPhase, manifests.AnnotationPhaseOrder,
}, "|") + `)\b`)

// readdress makes settings for the ready-made operator settings for the project's own: it heeds no others, and a chart that keeps what must
// not be deleted would lose it without a word. The note says so; it is empty where there are none.
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
	return fmt.Sprintf("annotations of %s in %s were renamed to those of %s, because the operator reads no others", readyMade, strings.Join(changed, ", "), o.OperatorName)
}
