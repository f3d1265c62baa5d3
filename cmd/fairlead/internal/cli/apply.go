package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/completion"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/notes"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/preview"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/progress"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/publish"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/show"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/values"
)

const applyHelp = `Pack the folder DIR, or the content of the .tgz archive ARCHIVE, and create or update the
component NAME from it. An archive behind an http or https URL is not packed: the command downloads it, and writes
the URL and its SHA-256 digest to spec.source.http. The operator must be able to download it too. With --sha256, or
with a digest for this URL in the manifest of -f, an archive with another digest is refused.

Before it writes anything, the command plans the writes of the operator as fairlead plan does, with your rights,
and refuses what the operator could not apply, or would take away from others. The exit code is 2 if the source
does not render, and 1 if an existing object would be taken over without --adopt, if an object belongs to another
component, if the API server refuses a manifest, or if the target of a component with dependents would change.
What nobody can know before the write is a warning: a right that you lack, a quota, a webhook, a type that is not
served, or an object that needs an earlier object of the same set. If no plan is possible, for example because you
may not read an input, the command warns and writes the component. --skip-plan writes it without a plan. The
values of --input NAME=FILE are for the plan only. For a component with a kubeconfig the command reads as the
identity of the component, if you may impersonate it.

The command lists each existing object that would be taken over, who has it, and which of its values get lost.
It also lists the objects that only the deletion of the component would take over, such as those of pre-delete hooks.
With --adopt it names these objects in spec.adopt. The list is complete: the operator takes over no other object.
A component that the command creates always has a list, so that an object that appears after the plan is not
taken over. An existing component keeps its list without the used entries, and --adopt adds to it; it also confirms
the remaining entries. If the component has no list, --adopt writes one, which is complete from then on.
--adopt-cluster UID permits the component to take over the objects that it owned in another cluster, which the UID
of the namespace kube-system there identifies.

If -f names the manifest of a Component, its name, namespace, labels, annotations and spec are those of the
component, with DIR, ARCHIVE or URL as the source. Fields of the spec that are neither in the manifest nor on the
command line are removed, except for spec.adopt. Other files of -f, and --set, override the values in the manifest.

A local source is stored in an immutable ConfigMap whose name depends on its content, or in several if it is large.
One write of the component then switches source and values together. If the component exists, only the fields
given on the command line change. Without -f and --set the values stay unchanged; with any flag for values all of
them are replaced. Sources of older revisions are deleted, except for the previous source and the source of the last
revision that was Ready. These two are deleted with the component.

With --wait the command waits until the component is Ready. If only objects of such types are missing, it gives
up after --unserved-timeout; the operator continues by itself when the types are served. If nothing changed and
the component had failed before, the command requests another attempt from the operator.

Every person with the right to read the component can read its values. Keep passwords in Secrets, and name
these Secrets in spec.valuesFrom.`

// applyOptions are the flags of apply.
type applyOptions struct {
	values values.Sources
	fields map[string]*string
	// manifest is the manifest of the component, or nil.
	manifest *unstructured.Unstructured
	// dryRun shows the plan instead. createNamespace creates the namespace of the component.
	dryRun, createNamespace bool
	// skipSchema leaves out the validation of the values of a chart.
	skipSchema bool
	// sha256 is the digest that the archive behind a URL must have.
	sha256  string
	wait    bool
	timeout time.Duration
	// unserved limits the wait for nothing but types that nobody serves.
	unserved time.Duration
	// inputs are the values of inputs, as NAME=FILE.
	inputs []string
	// adopt permits the component to take over the existing objects that the plan finds. clusters are the clusters whose
	// objects it may take over.
	adopt    bool
	clusters []string
	// unplanned writes the component without a plan. renamed is set if its former flag is given.
	unplanned, renamed bool
}

func (a *app) newApply() *cobra.Command {
	o := applyOptions{values: values.Sources{Stdin: a.In, Warn: a.warn}}
	var changed func(string) bool
	cmd := &cobra.Command{
		Use:   "apply NAME DIR|ARCHIVE|URL",
		Short: "Apply a folder or an archive as a component",
		Long:  applyHelp,
		Args: func(cmd *cobra.Command, args []string) error {
			// "kubectl apply -f FILE" takes no arguments, so a person may call fairlead apply in the same way. The
			// error explains the difference.
			if len(args) == 1 && slices.ContainsFunc(o.values.Files, func(file string) bool { return componentIn(file) != nil }) {
				return nil
			}
			if err := o.values.Manifest(); len(args) < 2 && err != nil {
				return exit.BadInput("%w", err)
			}
			return takes(0, theComponent, theSource)(cmd, args)
		},
		RunE: work(func(ctx context.Context, args []string) error {
			args, err := takeManifest(&o, a.flags.Namespace, args)
			if err != nil {
				return err
			}
			if o.dryRun {
				return a.plan(ctx, args, planOptions{applyOptions: o, changed: changed}, show.Output{
					Writer: a.Out, Palette: a.palette(),
				})
			}
			return a.apply(ctx, args[0], args[1], o, changed)
		}),
		ValidArgsFunction: a.completer.ComponentAndSource,
	}
	flags := cmd.Flags()
	changed = flags.Changed
	o.addSpecFlags(flags)
	flags.BoolVar(&o.dryRun, "dry-run", false, "show the plan of the operator, as fairlead plan does, and write nothing")
	flags.BoolVar(&o.createNamespace, "create-namespace", false,
		"create the namespace of the component if it does not exist; it stays when the component is deleted")
	flags.BoolVar(&o.unplanned, "skip-plan", false, "write the component without a plan of what its operator will do")
	flags.BoolVar(&o.renamed, "skip-render-check", false, "the former name of --skip-plan")
	_ = flags.MarkHidden("skip-render-check")
	addInputFlag(flags, &o.inputs)
	addWaitFlags(flags, &o.wait, &o.timeout, "wait until the component is Ready, and show its progress")
	addUnservedFlag(flags, &o.unserved)
	completion.Values(cmd, "generator", generators...)
	return cmd
}

// addSpecFlags adds the flags that set the spec of a component.
func (o *applyOptions) addSpecFlags(flags *pflag.FlagSet) {
	addValueFlags(flags, &o.values)
	o.fields = specFlags(flags)
	addSkipSchemaFlag(flags, &o.skipSchema)
	addDigestFlag(flags, &o.sha256)
	flags.BoolVar(&o.adopt, "adopt", false, "take over the existing objects that the plan lists")
	flags.StringArrayVar(&o.clusters, "adopt-cluster", nil,
		"UID of the namespace kube-system of another cluster; take over what the component owned there; may be repeated")
}

var generators = []string{"Helm", "Kustomize", "GoTemplate"}

// generatorOf returns the generator with this name, in upper or lower case. It returns unknown names unchanged.
func generatorOf(text string) string {
	for _, name := range generators {
		if strings.EqualFold(name, text) {
			return name
		}
	}
	return text
}

// specFlags adds the flags that set a field of the spec. It returns the values of the flags by the name of the field.
func specFlags(flags *pflag.FlagSet) map[string]*string {
	return map[string]*string{
		"generator": flags.String("generator", "",
			"generator of the source: "+strings.Join(generators, ", ")+`; by default, and with "", it is detected`),
		"path": flags.String("path", "", "folder inside the source that is rendered"),
		"targetNamespace": flags.String("target-namespace", "",
			"namespace of the dependents; by default the namespace of the component"),
		"targetName": flags.String("target-name", "", "release name; by default the name of the component"),
		"serviceAccountName": flags.String("service-account", "",
			"service account in the component's namespace; by default the one in the operator's configuration"),
	}
}

var flagOfField = map[string]string{
	"generator": "generator", "path": "path", "targetNamespace": "target-namespace", "targetName": "target-name",
	"serviceAccountName": "service-account",
}

func (a *app) apply(ctx context.Context, name, place string, o applyOptions, changed func(string) bool) error {
	fields, err := o.spec(changed)
	if err != nil {
		return err
	}
	given, err := a.inputs(o.inputs)
	if err != nil {
		return err
	}
	archive, err := loadSource(ctx, place, o, a.warn)
	if err != nil {
		return err
	}
	c, target, err := a.connect(name)
	if err != nil {
		return err
	}
	if err := checkApplicable(target); err != nil {
		return err
	}
	warnOfUnread(ctx, a.warn, archive, fields)
	if o.createNamespace {
		if err := createNamespace(ctx, c.Client, target.Namespace, a.println); err != nil {
			return err
		}
	}
	publisher := publish.Publisher{Client: c.Client, Done: a.println, Warn: a.warn, CheckUnchanged: o.adopt}
	var found preview.Findings
	planned := false
	check := a.newPreflight(target, place, o.adopt)
	publisher.Check = func(obj *unstructured.Unstructured, sources []*corev1.ConfigMap) ([]metav1alpha1.AdoptRule, error) {
		if err := check.checkParent(obj); err != nil || o.unplanned {
			return nil, err
		}
		change := preview.Sources{ConfigMaps: sources, Archive: archive, Place: place, Inputs: given}
		found, err = preview.Check(ctx, a.gate(c, false), target, obj, change)
		planned = err == nil
		return check.decide(found, err)
	}
	applied, err := publisher.Publish(ctx, publish.Request{
		Target: target, Archive: archive, Manifest: o.manifest, Fields: fields, Adopt: o.adoptClusters(),
	})
	if err != nil {
		return err
	}
	check.listRecordsToRemove(found)
	live := cluster.Object{Cluster: c, Target: target, Live: applied}
	if planned {
		warnAll(a.warn, leftBehind(ctx, live, o.clusters, found))
	}
	a.warnOfAccount(ctx, c, target, *o.fields["serviceAccountName"])
	if err := a.await(ctx, live, o); err != nil {
		return err
	}
	if found.Notes.Final || !hasNotes(archive) {
		return printNotes(a.Out, found.Notes.Text)
	}
	// Errors of the notes are ignored. A person who may apply may lack the rights that notes need, and the status of the
	// component reports errors of the rendering.
	_ = a.showNotes(ctx, c, target, notes.Reader{Inputs: given, Fetcher: fetcherOf(archive)})
	return nil
}

// await waits until the applied component is Ready, if --wait is set. If the component is unchanged and its status
// reports an earlier failure, await requests another attempt from the operator, and waits for its result.
func (a *app) await(ctx context.Context, f cluster.Object, o applyOptions) error {
	if suspend, _, _ := unstructured.NestedBool(f.Live.Object, "spec", "suspend"); suspend {
		idle := exit.Refuse("%s is suspended, so nothing is applied; to resume it, run: %s", f.Target,
			f.Target.Command("resume"))
		if o.wait {
			return idle
		}
		a.warn(idle)
		return nil
	}
	if !o.wait {
		warnOfAbsence(ctx, a, f)
		return nil
	}
	m, err := f.Managed()
	if err != nil {
		return err
	}
	w := a.newWaiter(f.Cluster, f.Target, o.timeout).LimitUnserved(o.unserved)
	ready := func() error { return w.Ready(ctx, f.Live) }
	if progress.OfApply(m.Status, f.Live.GetGeneration()).Verdict != progress.Failed {
		return a.withOperator(ctx, f, ready)
	}
	after, request, err := m.RequestReconcile(ctx, true)
	if apierrors.IsForbidden(err) {
		return a.withOperator(ctx, f, ready)
	}
	if err != nil {
		return err
	}
	a.println(f.Target.String() + " reconcile requested")
	return a.withOperator(ctx, f, func() error { return w.Answered(ctx, after, request) })
}

// spec returns the fields of the spec that the flags set. An empty value removes a field.
func (o applyOptions) spec(changed func(string) bool) (map[string]any, error) {
	if o.timeout < 0 {
		return nil, errNegativeTimeout(o.timeout)
	}
	if o.unserved < 0 {
		return nil, errNegativeUnserved(o.unserved)
	}
	if err := o.checkAdopt(); err != nil {
		return nil, err
	}
	fields := map[string]any{}
	for field, value := range o.fields {
		if !changed(flagOfField[field]) {
			continue
		}
		given := *value
		if field == "generator" {
			given = generatorOf(given)
		}
		if err := checkField(field, given); err != nil {
			return nil, err
		}
		fields[field] = nil
		if given != "" {
			fields[field] = given
		}
	}
	if changed(flagSkipSchema) {
		fields["helm.skipSchema"] = nil
		if o.skipSchema {
			fields["helm.skipSchema"] = true
		}
	}
	if !o.values.Given() {
		return fields, nil
	}
	loaded, err := o.values.Load()
	if err != nil {
		return nil, exit.BadInput("%w", err)
	}
	fields["values"] = loaded
	return fields, nil
}

// checkAdopt returns an error if the flags about existing objects contradict each other.
func (o applyOptions) checkAdopt() error {
	switch {
	case o.renamed:
		return exit.BadUsage("--skip-render-check is now --skip-plan")
	case o.dryRun && (o.unplanned || o.wait || o.createNamespace):
		return exit.BadUsage("--dry-run writes nothing: leave --skip-plan, --wait and --create-namespace out")
	case o.adopt && o.unplanned:
		return exit.BadUsage("--adopt takes over the objects that the plan finds: leave --skip-plan out")
	}
	for _, uid := range o.clusters {
		if !metav1alpha1.IsClusterUID(uid) {
			return exit.BadUsage("--adopt-cluster %q: want the UID of the namespace kube-system of the other cluster, "+
				"such as 0b1e9a4c-5f0d-4d8e-9a55-3f6f0f2c1d7e", uid)
		}
	}
	return nil
}

// adoptClusters returns the entries of spec.adopt for the clusters of the flags.
func (o applyOptions) adoptClusters() []metav1alpha1.AdoptRule {
	var entries []metav1alpha1.AdoptRule
	for _, uid := range o.clusters {
		entries = append(entries, metav1alpha1.AdoptRule{Cluster: uid})
	}
	return entries
}

func checkField(field, value string) error {
	if value == "" {
		return nil
	}
	var problems []string
	switch field {
	case "generator":
		if !slices.Contains(generators, value) {
			problems = []string{"want " + strings.Join(generators, ", ")}
		}
	case "targetNamespace":
		problems = validation.IsDNS1123Label(value)
	case "targetName", "serviceAccountName":
		problems = validation.IsDNS1123Subdomain(value)
	}
	if len(problems) > 0 {
		return exit.BadUsage("--%s %q: %s", flagOfField[field], value, strings.Join(problems, ", "))
	}
	return nil
}

// checkApplicable returns an error if the target is no component of the ready-made operator, or if its name is invalid.
func checkApplicable(target cluster.Target) error {
	if !target.IsReadyMade() {
		return exit.BadUsage("%s: a folder can only be applied as a component of type components.%s", target,
			v1alpha1.GroupVersion.Group)
	}
	if problems := validation.IsDNS1123Subdomain(target.Name); len(problems) > 0 {
		return exit.BadUsage("component %q: %s", target.Name, strings.Join(problems, ", "))
	}
	return nil
}

// warnOfAccount warns if a service account does not exist. A missing account is not an error, because roles are bound
// to its name, and the operator impersonates the name. There is no warning if the person may not read service accounts.
func (a *app) warnOfAccount(ctx context.Context, c *cluster.Cluster, target cluster.Target, account string) {
	if account == "" {
		return
	}
	obj := &metav1.PartialObjectMetadata{}
	obj.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ServiceAccount"))
	if err := c.Get(ctx, client.ObjectKey{Namespace: target.Namespace, Name: account}, obj); apierrors.IsNotFound(err) {
		a.warn(
			fmt.Errorf("service account %q does not exist in namespace %q; requests of %s as this account may be refused",
				account, target.Namespace, target),
		)
	}
}
