package rendered

import (
	"errors"
	"fmt"
	"io"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/terminal"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// writeOutputOf writes the output of templates that a rendering refused because it is invalid.
func writeOutputOf(out io.Writer, err error) error {
	rendered, ok := errors.AsType[*generator.RenderedError](err)
	if !ok {
		return nil
	}
	_, failure := out.Write(rendered.Output)
	return failure
}

// maxExcerpts is the number of syntax errors of which lines are printed.
const maxExcerpts = 5

// printExcerpts prints the lines around the syntax errors of a rendering from local files. The lines may have a secret,
// so they are not printed for a component in a cluster.
func printExcerpts(out io.Writer, err error) {
	for _, mistake := range mistakesIn(err, nil, maxExcerpts) {
		_, _ = fmt.Fprintf(out, "%s:\n", terminal.Clean(mistake.File))
		for _, line := range mistake.Excerpt {
			_, _ = fmt.Fprintf(out, "  %s\n", terminal.Clean(line))
		}
	}
}

// mistakesIn appends the mistakes with excerpts that an error joins or wraps, up to a number of them.
func mistakesIn(err error, found []*manifests.FileError, most int) []*manifests.FileError {
	//nolint:errorlint // The function looks at each error of the tree by itself.
	if mistake, ok := err.(*manifests.FileError); ok && len(mistake.Excerpt) > 0 && len(found) < most {
		return append(found, mistake)
	}
	switch wrapping := err.(type) { //nolint:errorlint // As above.
	case interface{ Unwrap() error }:
		return mistakesIn(wrapping.Unwrap(), found, most)
	case interface{ Unwrap() []error }:
		for _, joined := range wrapping.Unwrap() {
			found = mistakesIn(joined, found, most)
		}
	}
	return found
}
