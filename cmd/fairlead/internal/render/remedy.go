package render

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/terminal"
	"github.com/fairlead-io/fairlead/internal/operator"
	"github.com/fairlead-io/fairlead/pkg/generator/helm"
)

// WithRemedy completes the error of a rendering with a command for the source at a place of this machine, or with a
// flag of the command, if one corrects the error. place is empty for a component in a cluster. folder is the folder
// inside the source that is rendered, empty for the default.
func WithRemedy(err error, place, folder string) error {
	if failed := operator.InputErrors(err); len(failed) > 0 {
		return fmt.Errorf("%w; %s", err, inputFlags(failed))
	}
	if _, ok := errors.AsType[*helm.MissingDependenciesError](err); !ok || place == "" {
		return err
	}
	if info, failure := os.Stat(place); failure == nil && info.IsDir() {
		return fmt.Errorf("%w: helm dependency build %s", err, terminal.Argument(chartFolder(place, folder)))
	}
	return fmt.Errorf("%w, in the folder of the chart that the archive was packed from", err)
}

// inputFlags returns the flags that give the values of inputs.
func inputFlags(failed []*operator.InputError) string {
	flags, them := make([]string, 0, len(failed)), "it"
	for _, input := range failed {
		flags = append(flags, "--input "+input.Name+"=FILE")
	}
	if len(flags) > 1 {
		them = "them"
	}
	return "give " + them + " with " + strings.Join(flags, " ")
}

// chartFolder returns the folder of the chart: the only folder of a place if its files are all there.
func chartFolder(place, folder string) string {
	if folder == "" {
		if charts, err := fs.Glob(os.DirFS(place), "*/Chart.yaml"); err == nil && len(charts) == 1 && !isChart(place) {
			folder = path.Dir(charts[0])
		}
	}
	if folder == "" || folder == "." {
		return place
	}
	return strings.TrimSuffix(place, "/") + "/" + folder
}

func isChart(place string) bool {
	_, err := os.Stat(place + "/Chart.yaml")
	return err == nil
}
