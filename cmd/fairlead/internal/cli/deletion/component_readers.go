package deletion

import (
	"context"
	"fmt"
	"strings"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/readers"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/show"
)

// maxReaders is the number of readers that a refusal names.
const maxReaders = 5

// checkReaders returns an error if other components read from a component. They do not matter if the deletion was
// requested before, or if they are to be ignored. checkReaders warns if they cannot be found out.
func checkReaders(ctx context.Context, f cluster.Object, ignoreReaders bool, warn func(error)) error {
	if ignoreReaders || f.Live.GetDeletionTimestamp() != nil {
		return nil
	}
	found, err := readers.Of(ctx, f)
	if err != nil {
		warn(readers.Unknown(err))
		return nil
	}
	if len(found) == 0 {
		return nil
	}
	var named []string
	for _, r := range found[:min(len(found), maxReaders)] {
		named = append(named, show.ReaderText(r))
	}
	if more := len(found) - maxReaders; more > 0 {
		named = append(named, fmt.Sprintf("%d more, which fairlead plan --delete names", more))
	}
	return exit.Refuse("%s is not deleted, and nothing was changed: other components read from it (%d): %s; change or "+
		"delete these first, or add --ignore-readers", f.Target, len(found), strings.Join(named, "; "))
}
