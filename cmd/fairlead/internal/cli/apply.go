package cli

import (
	"context"
	"errors"
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
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/egress"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/preview"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/progress"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/publish"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/values"
	"github.com/fairlead-io/fairlead/internal/operator"
	"github.com/fairlead-io/fairlead/pkg/component"
)

const applyHelp = `Pack the folder DIR, or the content of the .tgz archive ARCHIVE, and create or update the
component NAME from it.

The command renders the source first, with your rights. It writes nothing if the source does not render, unless
it cannot find that out, for example because you may not read an input. The values of --input NAME=FILE are for
this check only. The command warns of objects whose types the cluster does not serve and nothing in the source
defines. --skip-render-check leaves this out. For a component with a kubeconfig it reads as the identity of the
component, if you may impersonate it.

The source is stored in an immutable ConfigMap whose name depends on its content, or in several if it is large.
One write of the component then switches source and values together. If the component exists, only the fields
given on the command line change. Without -f and --set the values stay unchanged; with any of these flags all values are
replaced. Sources of older revisions are deleted, except for the previous source and the source of the last
revision that was Ready. These two are deleted with the component.

With --wait the command waits until the component is Ready. If only objects of such types are missing, it gives
up after --unserved-timeout; the operator continues by itself when the types are served. If nothing changed and
the component had failed before, the command requests another attempt from the operator.

Every person with the right to read the component can read its values. Keep passwords in Secrets, and name
these Secrets in spec.valuesFrom.`

// applyOptions are the flags of apply.
type applyOptions struct {
	values  values.Sources
	fields  map[string]*string
	wait    bool
	timeout time.Duration
	// unserved limits the wait for nothing but types that nobody serves.
	unserved time.Duration
	// inputs are the values of inputs, as NAME=FILE.
	inputs []string
	// unchecked applies a source that may not render.
	unchecked bool
}

func (a *app) newApply() *cobra.Command {
	o := applyOptions{values: values.Sources{Stdin: a.In, Warn: a.warn}}
	var changed func(string) bool
	cmd := &cobra.Command{
		Use:   "apply NAME DIR|ARCHIVE",
		Short: "Apply a local folder or archive as a component",
		Long:  applyHelp,
		Args: func(cmd *cobra.Command, args []string) error {
			// "kubectl apply -f FILE" takes no arguments, so a person may call fairlead apply in the same way. The
			// error explains the difference.
			if err := o.values.Manifest(); len(args) < 2 && err != nil {
				return exit.BadInput("%w", err)
			}
			return takes(0, theComponent, theSource)(cmd, args)
		},
		RunE: work(func(ctx context.Context, args []string) error {
			return a.apply(ctx, args[0], args[1], o, changed)
		}),
		ValidArgsFunction: a.completer.ComponentAndSource,
	}
	flags := cmd.Flags()
	changed = flags.Changed
	o.addSpecFlags(flags)
	flags.BoolVar(&o.unchecked, "skip-render-check", false, "write the component without rendering it first")
	addInputFlag(flags, &o.inputs)
	addWaitFlags(flags, &o.wait, &o.timeout, "wait until the component is Ready, and show its progress")
	addUnservedFlag(flags, &o.unserved)
	completion.Values(cmd, "generator", generators...)
	return cmd
}

// addSpecFlags adds the flags that set the spec of a component.
func (o *applyOptions) addSpecFlags(flags *pflag.FlagSet) {
	flags.StringArrayVarP(&o.values.Files, "values", "f", nil,
		"file of values; may be repeated, a later file overrides earlier files; - is stdin")
	flags.StringArrayVar(&o.values.Assignments, "set", nil,
		"values as in helm --set, such as image.tag=v2; they override all files")
	o.fields = specFlags(flags)
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
		"path": flags.String("path", "", "folder inside DIR or ARCHIVE that is rendered"),
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
	archive, err := publish.Pack(place)
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
	if !o.unchecked {
		publisher.Check = func(obj *unstructured.Unstructured, sources []*corev1.ConfigMap) error {
			change := preview.Sources{ConfigMaps: sources, Place: place, Inputs: given}
			unserved, err := preview.Check(ctx, a.gate(c, false), target, obj, change)
			if _, ok := errors.AsType[*egress.Refusal](err); ok || len(operator.InputErrors(err)) > 0 {
				a.warn(fmt.Errorf("the source is not rendered before it is written: %w", err))
				return nil
			}
			a.warnOfUnserved(unserved)
			return err
		}
	}
	applied, err := publisher.Publish(ctx, publish.Request{Target: target, Archive: archive, Fields: fields})
	if err != nil {
		return err
	}
	a.warnOfAccount(ctx, c, target, *o.fields["serviceAccountName"])
	if err := a.await(ctx, cluster.Object{Cluster: c, Target: target, Live: applied}, o); err != nil {
		return err
	}
	// Errors of the notes are ignored. A person who may apply may lack the rights that notes need, and the status of the
	// component reports errors of the rendering.
	_ = a.showNotes(ctx, c, target, given)
	return nil
}

// maxUnserved is the number of objects that a warning names.
const maxUnserved = 3

// warnOfUnserved warns of dependents that have to wait because nobody serves their types.
func (a *app) warnOfUnserved(unserved []component.Waiting) {
	for _, w := range unserved[:min(len(unserved), maxUnserved)] {
		a.warn(fmt.Errorf("%s has to wait: %s", w.Dependent, w.Message))
	}
	if more := len(unserved) - maxUnserved; more > 0 {
		a.warn(fmt.Errorf("%d more objects have to wait for types that are not served", more))
	}
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
