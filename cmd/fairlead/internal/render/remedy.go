package render

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/fairlead-io/fairlead/pkg/generator/helm"
)

// WithRemedy completes the error of a rendering with a command for the source at a place of this machine, if a command
// corrects the error. folder is the folder inside the source that is rendered, empty for the default.
func WithRemedy(err error, place, folder string) error {
	if _, ok := errors.AsType[*helm.MissingDependenciesError](err); !ok || place == "" {
		return err
	}
	if info, failure := os.Stat(place); failure == nil && info.IsDir() {
		return fmt.Errorf("%w: helm dependency build %s", err, quoted(chartFolder(place, folder)))
	}
	return fmt.Errorf("%w, in the folder of the chart that the archive was packed from", err)
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

// quoted returns a text as an argument for a shell.
func quoted(text string) string {
	if strings.ContainsAny(text, " \t\n'\"\\$&;|<>()*?[]#~`!{}") {
		return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
	}
	return text
}
