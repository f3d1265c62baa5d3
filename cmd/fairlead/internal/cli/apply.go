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

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/completion"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/progress"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/publish"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/values"
)

const applyHelp = `Pack the folder DIR and create or update the component NAME from it.

The folder goes into an immutable ConfigMap named for its content. One write of the component then switches source and values
together. Of an existing component only those fields change that the command line gives: without -f and --set its values stay;
with any of them they are replaced. Sources of former revisions are deleted, except for the previous one, and that of the last revision that was
Ready; those go with the component.

With --wait the command waits until the component is ready. Where nothing changed and the component has failed before, its operator is asked to
try again.

Values are readable to whoever may read the component: keep passwords in Secrets, and name those in spec.valuesFrom.`

// applyOptions are the flags of apply.
type applyOptions struct {
	values  values.Sources
	fields  map[string]*string
	wait    bool
	timeout time.Duration
}

func (a *app) newApply() *cobra.Command {
	o := applyOptions{values: values.Sources{Stdin: a.In, Warn: a.warn}}
	var changed func(string) bool
	cmd := &cobra.Command{
		Use:   "apply NAME DIR",
		Short: "Apply a local folder as a component",
		Long:  applyHelp,
		Args: func(cmd *cobra.Command, args []string) error {
			// kubectl apply takes no arguments: a person who wrote the same is told the difference, not the usage.
			if err := o.values.Manifest(); len(args) < 2 && err != nil {
				return exit.BadInput("%w", err)
			}
			return takes(0, theComponent, theFolder)(cmd, args)
		},
		RunE: work(func(ctx context.Context, args []string) error {
			return a.apply(ctx, args[0], args[1], o, changed)
		}),
		ValidArgsFunction: a.completer.ComponentAndFolder,
	}
	flags := cmd.Flags()
	changed = flags.Changed
	o.addSpecFlags(flags)
	addWaitFlags(flags, &o.wait, &o.timeout, "wait until the component is ready, and show its progress")
	completion.Values(cmd, "generator", generators...)
	return cmd
}

// addSpecFlags adds the flags by which a command line says what a component is to be.
func (o *applyOptions) addSpecFlags(flags *pflag.FlagSet) {
	flags.StringArrayVarP(&o.values.Files, "values", "f", nil, "file of values; may be repeated, later ones win; - is stdin")
	flags.StringArrayVar(&o.values.Assignments, "set", nil, "values as in helm --set, such as image.tag=v2; they win over all files")
	o.fields = specFlags(flags)
}

var generators = []string{"Helm", "Kustomize", "GoTemplate"}

// generatorOf returns the generator that a person named, in whatever case; what is none stays as it is.
func generatorOf(text string) string {
	for _, name := range generators {
		if strings.EqualFold(name, text) {
			return name
		}
	}
	return text
}

// specFlags are the flags that set a field of the spec. They are named after the field.
func specFlags(flags *pflag.FlagSet) map[string]*string {
	return map[string]*string{
		"generator":          flags.String("generator", "", "what renders the source: "+strings.Join(generators, ", ")+`; detected by default ("" goes back to that)`),
		"path":               flags.String("path", "", "folder inside DIR that is rendered"),
		"targetNamespace":    flags.String("target-namespace", "", "namespace of the dependents; the component's by default"),
		"targetName":         flags.String("target-name", "", "release name; the component's name by default"),
		"serviceAccountName": flags.String("service-account", "", "service account that the component acts as, in its namespace; the operator's choice by default"),
	}
}

var flagOfField = map[string]string{
	"generator": "generator", "path": "path", "targetNamespace": "target-namespace", "targetName": "target-name",
	"serviceAccountName": "service-account",
}

func (a *app) apply(ctx context.Context, name, dir string, o applyOptions, changed func(string) bool) error {
	fields, err := o.spec(changed)
	if err != nil {
		return err
	}
	archive, err := publish.Pack(dir)
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
	publisher := publish.Publisher{Client: c.Client, Done: a.println, Warn: a.warn}
	component, err := publisher.Publish(ctx, publish.Request{Target: target, Archive: archive, Fields: fields})
	if err != nil {
		return err
	}
	a.warnOfAccount(ctx, c, target, *o.fields["serviceAccountName"])
	if err := a.await(ctx, cluster.Object{Cluster: c, Target: target, Live: component}, o); err != nil {
		return err
	}
	// What keeps notes from being rendered keeps the component from being ready, or is a right that applying does not need.
	_ = a.showNotes(ctx, c, target)
	return nil
}

// await waits until what was applied is ready, where that is wanted. A failure that is told of the very same component is one of before: its
// operator is asked to try again, and what it comes to then is the answer.
func (a *app) await(ctx context.Context, f cluster.Object, o applyOptions) error {
	if suspend, _, _ := unstructured.NestedBool(f.Live.Object, "spec", "suspend"); suspend {
		idle := exit.Refuse("%s is suspended, so that nothing is applied; fairlead resume %s lets its operator take it up", f.Target, f.Target.Name)
		if o.wait {
			return idle
		}
		a.warn(idle)
		return nil
	}
	if !o.wait {
		return nil
	}
	m, err := f.Managed()
	if err != nil {
		return err
	}
	w := a.newWaiter(f.Cluster, f.Target, o.timeout)
	if progress.OfApply(m.Status, f.Live.GetGeneration()).Verdict != progress.Failed {
		return w.Ready(ctx, f.Live)
	}
	after, request, err := m.RequestReconcile(ctx, true)
	if apierrors.IsForbidden(err) {
		return w.Ready(ctx, f.Live)
	}
	if err != nil {
		return err
	}
	a.println(f.Target.String() + " reconcile requested")
	return w.Answered(ctx, after, request)
}

// spec returns the fields of the spec that the command line gives. An empty text removes a field.
func (o applyOptions) spec(changed func(string) bool) (map[string]any, error) {
	if o.timeout < 0 {
		return nil, errNegativeTimeout(o.timeout)
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

// checkApplicable refuses types and names that a Component cannot have.
func checkApplicable(target cluster.Target) error {
	if !target.IsReadyMade() {
		return exit.BadUsage("%s: a folder can be applied as components.%s only", target, v1alpha1.GroupVersion.Group)
	}
	if problems := validation.IsDNS1123Subdomain(target.Name); len(problems) > 0 {
		return exit.BadUsage("component %q: %s", target.Name, strings.Join(problems, ", "))
	}
	return nil
}

// warnOfAccount warns if a service account does not exist. That is not an error, because rights are granted to a name. It stays silent if
// the person may not read service accounts.
func (a *app) warnOfAccount(ctx context.Context, c *cluster.Cluster, target cluster.Target, account string) {
	if account == "" {
		return
	}
	obj := &metav1.PartialObjectMetadata{}
	obj.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ServiceAccount"))
	if err := c.Get(ctx, client.ObjectKey{Namespace: target.Namespace, Name: account}, obj); apierrors.IsNotFound(err) {
		a.warn(fmt.Errorf("there is no service account %q in namespace %q; %s acts as it all the same, with the rights granted to that name",
			account, target.Namespace, target))
	}
}
