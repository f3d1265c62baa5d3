package cli

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

// refuseIfRead returns an error if other components read from a component. It warns if that cannot be found out.
func refuseIfRead(ctx context.Context, f cluster.Object, warn func(error)) error {
	found, err := readers.Of(ctx, f)
	if err != nil {
		warn(errReadersUnknown(err))
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

func errReadersUnknown(err error) error {
	return fmt.Errorf("not checked whether other components read from this one: %w", err)
}
