package applier

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/digests"
	"github.com/fairlead-io/fairlead/pkg/component/internal/inclusion"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/internal/binding"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// maxBindTime bounds the evaluation of all holes of a set, because it occupies a worker.
const maxBindTime = 2 * time.Second

var errBindTooLong = fmt.Errorf("the holes of the component take more than %s; simplify them", maxBindTime)

// Binder evaluates conditions that read exported values, and fills the holes of an apply set with exported values. The
// zero value changes nothing.
type Binder struct {
	bindings binding.Bindings
	used     bool
	// conditions decide which objects are applied; see Request.Conditions.
	conditions Conditions
	// rendered are the objects with holes and the objects that export values, as they were rendered.
	rendered map[manifests.Key]manifests.Object
}

// Conditions decide which objects of a set are applied, given the values that live objects export. The function export
// returns a value, or the reason why it is not known.
type Conditions func(ctx context.Context, export func(name string) (value any, reason string)) inclusion.Decision

// newBinder returns the Binder of an apply set.
func newBinder(reconciler string, desired []manifests.Object, conditions Conditions) Binder {
	bindings, used := binding.New(reconciler, desired)
	if !used {
		return Binder{}
	}
	b := Binder{
		bindings: bindings, used: true, conditions: conditions, rendered: map[manifests.Key]manifests.Object{},
	}
	for _, o := range desired {
		if o.Settings.Binds() || len(o.Settings.Exports()) > 0 {
			b.rendered[o.Key] = o
		}
	}
	return b
}

// Bind returns the facts with the apply set whose conditions are evaluated, and whose holes are filled, with the values
// that the live objects export now. Objects whose values are not known stay as they are, and are entered into
// Facts.Unbound.
func (b Binder) Bind(ctx context.Context, f plan.Facts) plan.Facts {
	if !b.used {
		return f
	}
	if b.conditions != nil {
		decision := b.conditions(ctx, func(name string) (any, string) { return b.valueOf(f, name) })
		f.Desired, f.Excluded, f.LeftOut = decision.Desired, decision.Excluded, decision.LeftOut
	}
	ctx, cancel := context.WithTimeoutCause(ctx, maxBindTime, errBindTooLong)
	defer cancel()
	f.Unbound = map[manifests.Key]plan.Unbound{}
	bound := make([]manifests.Object, 0, len(f.Desired))
	for _, o := range f.Desired {
		if o.Settings.Binds() && o.Held == nil {
			o = b.bind(ctx, f, b.rendered[o.Key])
		}
		bound = append(bound, o)
	}
	f.Desired = bound
	return f
}

// bind returns an object with its values, or unchanged if a value is missing.
func (b Binder) bind(ctx context.Context, f plan.Facts, o manifests.Object) manifests.Object {
	reasons := map[string]string{}
	result, err := b.bindings.Bind(ctx, o, func(name string) (any, bool) {
		value, reason := b.valueOf(f, name)
		if reason != "" {
			reasons[name] = reason
		}
		return value, reason == ""
	})
	switch {
	case err != nil:
		f.Unbound[o.Key] = plan.Unbound{Message: err.Error(), Failed: !errors.Is(err, binding.ErrNotYet)}
		return o
	case len(result.Missing) > 0:
		unbound, texts := plan.Unbound{Missing: result.Missing}, []string(nil)
		for _, name := range result.Missing {
			exporter := b.bindings.Exporter(name)
			unbound.Exporters = append(unbound.Exporters, exporter)
			texts = append(texts, fmt.Sprintf("export %s of %s: %s", name, exporter, reasons[name]))
		}
		unbound.Message = "it waits for " + strings.Join(texts, "; ")
		f.Unbound[o.Key] = unbound
		return o
	}
	return result.Object
}

// valueOf returns the value of an export, or the reason why it is not known.
func (b Binder) valueOf(f plan.Facts, name string) (value any, reason string) {
	o, applied := b.rendered[b.bindings.Exporter(name)]
	if !applied {
		return nil, "the object that exports it is not applied, because of its own conditions; test the same conditions first"
	}
	return exportOf(f, o, name)
}

// exportOf returns the value of an export of an object, or the reason why it is not known. o is the object as it was
// rendered.
func exportOf(f plan.Facts, o manifests.Object, name string) (value any, reason string) {
	live := f.LiveOf(o.Key)
	value, failure, ok := live.Exports.Value(name)
	switch {
	case live.Presence == plan.Absent:
		return nil, "the object does not exist"
	case live.Presence != plan.Present:
		return nil, live.Message
	case !o.Settings.IsObserved() && live.Owner != f.Owner:
		// The watches show the objects of all components, also those that the component may not read.
		return nil, "the object does not belong to the component"
	case !live.IsReady():
		return nil, strings.TrimSuffix("the object is not ready: "+live.Readiness.Message, ": ")
	case !ok:
		return nil, failure.Message
	case !isCurrent(f, o, live):
		return nil, "the object is not updated yet"
	}
	return value, ""
}

// isCurrent reports whether the manifest of this revision was applied to an object that exports values, or whether its
// matcher accepts the object as it is.
func isCurrent(f plan.Facts, o manifests.Object, live plan.Observed) bool {
	entry := f.Inventory[o.Key]
	return o.Settings.IsObserved() || live.MatchResult.IsAccepted() || entry.Digest != "" && entry.Revision == f.Revision ||
		digests.Template(live.Digest) == digests.Template(o.Digest)
}

// Binder returns the Binder of a request.
func (a *Applier) Binder(r Request) Binder {
	return newBinder(a.options.Reconciler, r.Desired, r.Conditions)
}
