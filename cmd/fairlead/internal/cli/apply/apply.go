package apply

import (
	"context"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/changepreview"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cli/command"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/completion"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/notes"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/publish"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/show"
)

const applyHelp = `Pack the folder DIR, or the content of the .tgz archive ARCHIVE, and create or update the component
NAME from it. An archive behind an http or https URL is not packed: the command downloads it, and writes the URL and
its SHA-256 digest to spec.source.http. The operator must be able to download it too. With --sha256, or with a digest
for this URL in the manifest of -f, an archive with another digest is refused. The operator sends no credentials, so a
URL with a user or a password is refused. The query of a URL is stored, and a warning says so.

Before it writes anything, the command plans the writes of the operator as fairlead plan does, with your rights,
and refuses what the operator could not apply, or would take away from others. The exit code is 2 if the source
does not render, and 1 if an existing object would be taken over without --adopt, if an object belongs to another
component, if the API server refuses a manifest, or if the target of a component with dependents would change.
What nobody can know before the write is a warning: a right that you lack, a quota, a webhook, a type that is not
served, an object that needs an earlier object of the same set, or a port that another Service has. If no plan is
possible, for example because you may not read an input or because the plan takes longer than two minutes, the
command warns and writes the component, but not with --adopt. --skip-plan writes it without a plan. The values of
--input NAME=FILE are for the plan and the notes only. For a component with a kubeconfig the command reads as the
identity of the component, if you may impersonate it.

Also with --skip-plan the command refuses to change a component that belongs to another component, a controller or a
Helm release, unless --adopt is set. It never changes a component that is being deleted.

The command lists each existing object that would be taken over, who has it, and which of its values get lost. It
also lists the objects that only the deletion of the component would take over, such as those of pre-delete hooks,
and says which objects are deleted after their adoption. With --adopt it names these objects in spec.adopt. The list
is complete: the operator takes over no other object. A component that the command creates always has a list, so
that an object that appears after the plan is not taken over. An existing component keeps its list without the used
entries, and --adopt adds to it; it also confirms the remaining entries. If the component has no list, --adopt
writes one, which is complete from then on. --adopt-cluster UID permits the component to take over the objects that
it owned in another cluster, which the UID of the namespace kube-system there identifies.

If -f names the manifest of a Component, its name, namespace, labels, annotations and spec are those of the
component, with DIR, ARCHIVE or URL as the source. Fields of the spec that are neither in the manifest nor on the
command line are removed, except for spec.adopt. Other files of -f, and --set, override the values in the manifest.
-f refuses other files with apiVersion and kind.

Files of values are merged as Helm merges them. Only the first YAML document of a file is read, and a warning reports
the others. If a key occurs twice in a map, the last value is used, and a warning names the line.

A local source is stored in an immutable ConfigMap whose name depends on its content, or in several if it is large.
One write of the component then switches source and values together. If the component exists, only the fields
given on the command line change, and an empty text, such as --path "", removes a field. Without -f and --set the
values stay unchanged; with any flag for values all of them are replaced. The write has the field manager
fairlead-cli. If another client wrote the component meanwhile, the command repeats its change on the new version.

Folders named .git are not part of a source. Symbolic links inside the folder are followed, and a link that leads
out of it is an error. A source counts as unchanged if only files differ that the chart's .helmignore leaves out,
and an archive of helm package counts as the folder of the same chart. A packed source has at most 16 MiB, in parts
of 750 KiB. Sources of older revisions are deleted, except for the previous source and the source of the last
revision that was Ready. These two are deleted with the component. A source that an interrupted apply left behind is
deleted by an apply that comes more than an hour later.

With --wait the command waits until the component is Ready. The exit code is 1 if the component is Stalled,
Suspended or deleted, or at the timeout. If only objects are missing whose types nothing serves or defines, it gives
up after --unserved-timeout; the operator continues by itself when the types are served. If nothing changed and the
component had failed before, the command requests another attempt from the operator. The source and values of a
suspended component are written, and applied after fairlead resume. An interrupt ends only the command.

Every person with the right to read the component can read its values. Keep passwords in Secrets, and name
these Secrets in spec.valuesFrom.`

// applyOptions are the flags of apply, and what it works with.
type applyOptions struct {
	*command.Console
	clusters command.Clusters
	spec     specOptions
	wait     command.WaitFlags
	// dryRun shows the plan instead. createNamespace creates the namespace of the component.
	dryRun, createNamespace bool
	// unplanned writes the component without a plan. renamed is set if its previous flag is given.
	unplanned, renamed bool
}

// NewApply returns the command apply.
func NewApply(base command.Base) *cobra.Command {
	o := &applyOptions{
		Console: base.Console, clusters: base.Clusters, spec: specOptions{values: base.Console.ValueOptions()},
	}
	cmd := &cobra.Command{
		Use:   "apply NAME DIR|ARCHIVE|URL",
		Short: "Apply a folder or an archive as a component",
		Long:  applyHelp,
		Args: func(cmd *cobra.Command, args []string) error {
			// The manifest names the component, so the only argument is the source.
			if len(args) == 1 && command.HasManifest(o.spec.values.Files) {
				return nil
			}
			// "kubectl apply -f FILE" takes no arguments, so a person may call fairlead apply in the same way. The
			// error explains the difference.
			if err := o.spec.values.Manifest(); len(args) < 2 && err != nil {
				return exit.BadInput("%w", err)
			}
			return command.Takes(0, command.TheComponent, command.TheSource)(cmd, args)
		},
		RunE: command.Work(func(ctx context.Context, args []string) error {
			args, err := o.spec.takeManifest(o.clusters.Namespace(), args)
			if err != nil {
				return err
			}
			if err := o.check(); err != nil {
				return err
			}
			if o.dryRun {
				planned := previewOptions{clusters: o.clusters, spec: o.spec}
				plan := planOptions{Console: o.Console, preview: planned}
				return plan.run(ctx, args, show.Output{Writer: o.Out, Palette: o.Palette()})
			}
			return o.run(ctx, args[0], args[1])
		}),
		ValidArgsFunction: base.Completer.ComponentAndSource,
	}
	flags := cmd.Flags()
	o.spec.changed = flags.Changed
	o.spec.addTo(flags)
	flags.BoolVar(&o.dryRun, "dry-run", false, "show the plan of the operator, as fairlead plan does, and write nothing")
	flags.BoolVar(&o.createNamespace, "create-namespace", false,
		"create the namespace of the component if it does not exist; it stays when the component is deleted")
	flags.BoolVar(&o.unplanned, "skip-plan", false, "write the component without a plan of what its operator will do")
	flags.BoolVar(&o.renamed, "skip-render-check", false, "the old name of --skip-plan")
	_ = flags.MarkHidden("skip-render-check")
	command.AddInputFlag(flags, &o.spec.inputs)
	o.wait.AddTo(flags, "wait until the component is Ready, and show its progress")
	o.wait.AddUnserved(flags)
	completion.Values(cmd, "generator", command.Generators...)
	return cmd
}

// check returns an error if flags contradict each other.
func (o *applyOptions) check() error {
	if err := o.wait.Check(); err != nil {
		return err
	}
	switch {
	case o.renamed:
		return exit.BadUsage("--skip-render-check is now --skip-plan")
	case o.dryRun && (o.unplanned || o.wait.Wait || o.createNamespace):
		return exit.BadUsage("--dry-run writes nothing: leave --skip-plan, --wait and --create-namespace out")
	case o.spec.adopt && o.unplanned:
		return exit.BadUsage("--adopt takes over the objects that the plan finds: leave --skip-plan out")
	}
	return nil
}

func (o *applyOptions) run(ctx context.Context, name, place string) error {
	fields, err := o.spec.given()
	if err != nil {
		return err
	}
	given, err := o.Inputs(o.spec.inputs)
	if err != nil {
		return err
	}
	archive, err := o.spec.load(ctx, place, o.Warn)
	if err != nil {
		return err
	}
	c, target, err := o.clusters.ConnectTo(name)
	if err != nil {
		return err
	}
	if err := checkApplicable(target); err != nil {
		return err
	}
	warnOfUnread(ctx, o.Warn, archive, fields)
	if o.createNamespace {
		if err := createNamespace(ctx, c.Client, target.Namespace, o.Println); err != nil {
			return err
		}
	}
	publisher := publish.Publisher{Client: c.Client, Done: o.Println, Warn: o.Warn, CheckUnchanged: o.spec.adopt}
	var found changepreview.Findings
	planned := false
	check := newPreflight(o.Console, target, place, o.spec.adopt)
	publisher.Check = func(obj *unstructured.Unstructured, sources []*corev1.ConfigMap) ([]metav1alpha1.AdoptRule, error) {
		if err := check.checkParent(obj); err != nil || o.unplanned {
			return nil, err
		}
		change := changepreview.Sources{ConfigMaps: sources, Archive: archive, Place: place, Inputs: given}
		found, err = changepreview.Check(ctx, command.NewGate(c, false, o.Tell), target, obj, change)
		planned = err == nil
		return check.decide(found, err)
	}
	applied, err := publisher.Publish(ctx, publish.Request{
		Target: target, Archive: archive, Manifest: o.spec.manifest, Fields: fields, Adopt: o.spec.adoptClusters(),
	})
	if err != nil {
		return err
	}
	check.listRecordsToRemove(found)
	live := cluster.Object{Cluster: c, Target: target, Live: applied}
	if planned {
		warnAll(o.Warn, leftBehind(ctx, live, o.spec.clusters, found))
	}
	warnOfAccount(ctx, live, *o.spec.fields["serviceAccountName"], o.Warn)
	if err := o.await(ctx, live); err != nil {
		return err
	}
	return o.printNotes(ctx, live, archive, given, found)
}

// printNotes prints the notes that the plan found. If the source has notes that were not final then, it renders them
// again.
func (o *applyOptions) printNotes(
	ctx context.Context, live cluster.Object, archive publish.Archive, given map[string]any, found changepreview.Findings,
) error {
	if files, err := archive.Files(); found.Notes.Final || err != nil || !notes.InSource(files) {
		return notes.Print(o.Out, found.Notes.Text)
	}
	o.renderNotes(ctx, live, archive, given)
	return nil
}

// renderNotes renders and prints the notes of the applied component. It ignores errors of the rendering. A person who
// may apply may lack the rights that notes need, and the status of the component reports errors of the rendering.
func (o *applyOptions) renderNotes(
	ctx context.Context, live cluster.Object, archive publish.Archive, given map[string]any,
) {
	obj, err := live.Cluster.Find(ctx, live.Target)
	if err != nil {
		return
	}
	about, err := o.clusters.Discovery()
	if err != nil {
		return
	}
	reader := notes.Reader{Client: live.Cluster.Client, About: about, Inputs: given, Fetcher: fetcherOf(archive)}
	if text, err := reader.Notes(ctx, obj); err == nil {
		_ = notes.Print(o.Out, text)
	}
}
