package scaffold

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/fairlead-io/fairlead/internal/settingtext"
)

// readyMade is the name of the ready-made operator's reconciler, and the prefix of its settings in a chart.
const readyMade = "fairlead.io"

// settings matches annotations that are settings of the ready-made operator.
var settings = regexp.MustCompile(
	`\b` + regexp.QuoteMeta(readyMade) + `/(` + strings.Join(settingtext.Names(), "|") + `)\b`)

// readdress renames annotations of the ready-made operator to annotations of the project's operator, which ignores
// other annotations. Otherwise a chart would lose settings such as a delete policy without an error. The note lists the
// changed files. It is empty if no file was changed.
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
	return fmt.Sprintf("annotations of %s in %s were renamed to annotations of %s, because the operator ignores others",
		readyMade, strings.Join(changed, ", "), o.OperatorName)
}
