package apply

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/changes"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cli/command"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/show"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/terminal"
	"github.com/fairlead-io/fairlead/internal/marks"
	"github.com/fairlead-io/fairlead/internal/operator"
	"github.com/fairlead-io/fairlead/pkg/component/result"
)

const diffHelp = `Show how the live objects differ from the result of the operator's next writes, and write nothing.

If -f names the manifest of a Component, the command shows the changes after an apply of this manifest, as plan does.

With DIR, ARCHIVE or URL the command shows the changes after fairlead apply with the same source and flags. Without
it, the command shows the writes that the operator has not made yet, and repairs of changes that others made.
Each write of fairlead plan is sent to the API server as a dry run, and the answer is compared with the live
object. Fields that the API server sets, the status, and the operator's labels and annotations are left out. If an
object would be deleted and created again, its manifest is compared with all managed fields, also those of other
clients, which would be lost.

With --last-applied the command compares the manifests with the fields that the operator applied last, according
to the managed fields, instead of with the live objects. A field that another manager took over is shown as new.

Nobody but the operator asks dependents outside Kubernetes. Their manifests are compared with those that were
applied last, which are in Secrets beside the component, as far as you may read these. A line "# not compared" names
those whose Secret you may not read, and a line "# not asked" the objects that bind values of externals which are
not stored. A line "# not checked" begins the diff of an object whose dry run was not possible. Problems that
fairlead plan lists below its table are printed on stderr.

Fields that are left to others by rules (fairlead.io/ignore, spec.ignore) are listed as ignored. They are no
differences.

The exit code is 0 if nothing differs, and 1 if an object differs or cannot be applied; any other code is an error.
Values of Secrets are masked.`

// diffOptions are the flags of diff, and what it works with.
type diffOptions struct {
	*command.Console
	preview previewOptions
	// lastApplied compares with the fields that were applied last.
	lastApplied bool
}

// NewDiff returns the command diff.
func NewDiff(base command.Base) *cobra.Command {
	o := &diffOptions{Console: base.Console, preview: newPreviewOptions(base)}
	cmd := &cobra.Command{
		Use:   "diff NAME [DIR|ARCHIVE|URL]",
		Short: "Show how objects differ from the desired state of a component",
		Long:  diffHelp,
		Args:  o.preview.takes,
		RunE: command.Work(func(ctx context.Context, args []string) error {
			args, err := o.preview.takeManifest(args)
			if err != nil {
				return err
			}
			return errNotAnswer(o.run(ctx, args))
		}),
		ValidArgsFunction: base.Completer.ComponentAndSource,
	}
	o.preview.addTo(cmd)
	cmd.Flags().BoolVar(&o.lastApplied, "last-applied", false,
		"compare with the fields that were applied last instead of with the live objects")
	return cmd
}

// errNotAnswer changes the exit code of an error from 1 to another code, because exit code 1 of diff means that objects
// differ.
func errNotAnswer(err error) error {
	if err == nil || exit.CodeOf(err) != exit.No || exit.IsShown(err) {
		return err
	}
	return &exit.Error{Code: exit.Misuse, Err: err}
}

func (o *diffOptions) run(ctx context.Context, args []string) error {
	p, err := o.preview.forecast(ctx, args, o.Console)
	if err != nil {
		return err
	}
	differs := p.Forecast.Stuck()
	for _, s := range p.Forecast.Steps {
		text, err := textOf(s, p.ExternalsUnread, o.lastApplied)
		if err != nil {
			return fmt.Errorf("%s: %w", s.Key, err)
		}
		if text == "" {
			continue
		}
		differs = true
		if _, err := io.WriteString(o.Out, coloured(o.Palette(), text)); err != nil {
			return err
		}
	}
	for _, remark := range remarksOn(p.Forecast) {
		if _, err := io.WriteString(o.Out, coloured(o.Palette(), "# "+remark+"\n")); err != nil {
			return err
		}
	}
	for _, w := range p.Forecast.Waiting {
		if w.Failed {
			o.Warn(fmt.Errorf("%s: %s: %s", w.Dependent, w.Reason, w.Message))
		}
	}
	if err := p.Unreadable(); err != nil {
		return err
	}
	if differs {
		return exit.RefuseShown("there are differences")
	}
	return nil
}

// remarksOn returns lines about parts of a forecast that are not compared: values that were not asked for, and fields
// that are left to others.
func remarksOn(f result.Forecast) (remarks []string) {
	for _, n := range f.NotAsked {
		remarks = append(remarks, fmt.Sprintf("not asked: %s: %s", n.Key, n.Message))
	}
	for _, ignored := range show.IgnoredFields(f) {
		remarks = append(remarks, ignored.String())
	}
	return remarks
}

// textOf returns the text about a step. unread says why the records of externals could not be read. The text is empty
// if the step changes nothing.
func textOf(s result.Step, unread error, lastApplied bool) (string, error) {
	if unread != nil && s.Key.IsExternal() && s.Before == nil && s.Effect != result.EffectCreate {
		// Without the previous manifest, everything would look new.
		return fmt.Sprintf("# %s: %s; not compared: %s\n", s.Key, s.Effect, exit.Line(unread)), nil
	}
	text, err := changeOf(s, lastApplied)
	if s.Adopts != nil {
		text = fmt.Sprintf("# %s is taken over from %s\n", s.Key, s.Adopts.From) + text
	}
	if s.Unchecked != "" && text != "" {
		text = "# not checked: " + s.Unchecked + "\n" + text
	}
	return text, err
}

// changeOf returns the changes of a step as a unified diff. The diff is empty if the step changes nothing.
func changeOf(s result.Step, lastApplied bool) (string, error) {
	if s.Effect == result.EffectRelease {
		return "", nil
	}
	before, after := show.Before(s), s.After
	if s.Key.IsExternal() {
		before = s.Before // This is the manifest that was applied last.
	} else if lastApplied {
		before = changes.Owned(s.Before, operator.ReconcilerName)
	}
	if lastApplied || s.Key.IsExternal() {
		var err error
		if after, err = manifestOf(s); err != nil {
			return "", err
		}
	}
	return changes.Unified(s.Key.String(), changes.Clean(before), changes.Clean(after))
}

// manifestOf returns the applied manifest without the labels and annotations of the owner, or nil if the step applies
// no manifest.
func manifestOf(s result.Step) (*unstructured.Unstructured, error) {
	if s.Manifest == nil {
		return nil, nil
	}
	return marks.Unmarked(*s.Manifest, operator.ReconcilerName)
}

// coloured returns a unified diff with colours.
func coloured(p terminal.Palette, text string) string {
	var lines strings.Builder
	for line := range strings.Lines(text) {
		line = terminal.Clean(strings.TrimSuffix(line, "\n"))
		lines.WriteString(p.In(toneOfLine(line), line) + "\n")
	}
	return lines.String()
}

func toneOfLine(line string) terminal.Tone {
	switch {
	case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"):
		return terminal.Strong
	case strings.HasPrefix(line, "@@"):
		return terminal.Place
	case strings.HasPrefix(line, "+"):
		return terminal.Added
	case strings.HasPrefix(line, "-"):
		return terminal.Removed
	case strings.HasPrefix(line, "#"):
		return terminal.Faint
	}
	return terminal.Plain
}
