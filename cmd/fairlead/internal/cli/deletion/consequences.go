package deletion

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/changepreview"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cli/command"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/deletionrights"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/egress"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/ownership"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/show"
)

// tellConsequences says what the deletion of a component does, and what may be in its way.
func (o *options) tellConsequences(ctx context.Context, f cluster.Object) {
	if writer := ownership.WriterOf(f.Live); writer != "" {
		o.Warn(fmt.Errorf("%s is written by %s, which may create it again", f.Target, writer))
	}
	tellKept(ctx, f, o.Println)
	o.warnOfBlockers(ctx, f)
	o.warnOfRights(ctx, f)
}

// maxBlockers is the maximum time of the search for objects that would block a deletion.
const maxBlockers = 20 * time.Second

// warnOfBlockers warns of foreign instances that will block the deletion, and of types whose instances the person
// cannot list. It does not stop the deletion, because the operator decides with its own rights. It does not report
// other errors of the search, because they do not affect the deletion.
func (o *options) warnOfBlockers(ctx context.Context, f cluster.Object) {
	ctx, cancel := context.WithTimeout(ctx, maxBlockers)
	defer cancel()
	blockers, err := changepreview.Blockers(ctx, command.NewGate(f.Cluster, false, o.Tell), f.Target, f.Live)
	if refusal, ok := errors.AsType[*egress.Refusal](err); ok {
		o.Warn(fmt.Errorf("the command does not search for foreign instances in the other cluster: %w", refusal))
	}
	if err != nil {
		return
	}
	for _, b := range blockers {
		text := fmt.Sprintf("the deletion will be refused while foreign instances of %s exist (%d): %s",
			b.Type, b.Count, strings.Join(b.Names, ", "))
		if b.Error != "" {
			text = fmt.Sprintf("the deletion may be refused, because you cannot list the instances of %s: %s",
				b.Type, b.Error)
		}
		o.Warn(errors.New(text))
	}
}

// warnOfRights warns of rights that the deletion needs, and that are missing. It does not stop the deletion, because
// the operator continues it when the rights are granted. It is silent if the rights cannot be checked.
func (o *options) warnOfRights(ctx context.Context, f cluster.Object) {
	ctx, cancel := context.WithTimeout(ctx, maxBlockers)
	defer cancel()
	report, err := deletionrights.OfDeletion(ctx, f.Cluster, f.Target, f.Live)
	if err != nil || len(report.Missing) == 0 {
		return
	}
	o.Warn(errors.New("the deletion needs rights that are missing; the operator continues when they are granted"))
	_ = show.Rights(show.Output{Writer: o.ErrOut}, report.Missing)
}
