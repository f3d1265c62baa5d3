package changepreview

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/deletionrights"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/egress"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/publish"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/readers"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/render"
	"github.com/fairlead-io/fairlead/internal/operator"
	"github.com/fairlead-io/fairlead/pkg/component/preview"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

// Result is a component and the forecast of its operator's changes.
type Result struct {
	Target    cluster.Target
	Component *unstructured.Unstructured
	Forecast  result.Forecast
	// Adoptions are the steps of the forecast that take over an existing object which spec.adopt does not name.
	Adoptions []result.Step
	// Permissible are the take-overs that entries in spec.adopt would permit, of objects for which the component has to
	// wait because it does not list them.
	Permissible []result.Step
	// Deletion reports whether Forecast is the forecast of a deletion.
	Deletion bool
	// ExternalsUnread is the reason why the externals that steps change could not be read in the records; nil if there are
	// none, or if they were read.
	ExternalsUnread error
	// Places are the source files of the dependents.
	Places *render.Places
	// Rights contains the rights that the deletion needs, and that are missing.
	Rights deletionrights.Report
	// Readers are the components that read from a component which would be deleted. ReadersUnknown says why they are not
	// known.
	Readers        []readers.Reader
	ReadersUnknown error
}

// Change is the input of fairlead apply: a source, and fields of the spec.
type Change struct {
	Archive publish.Archive
	// Manifest is a manifest of the component; see publish.Request. It may be nil.
	Manifest *unstructured.Unstructured
	// Place is the folder or the archive that the source comes from.
	Place  string
	Fields map[string]any
	// Adopt are the entries that the apply adds to spec.adopt.
	Adopt []metav1alpha1.AdoptRule
	// Inputs are the values of inputs; see Assumed.
	Inputs map[string]any
	// Warn is called with errors after which the preview continues.
	Warn func(error)
}

// Assumed are the assumptions of a preview of a component in the cluster.
type Assumed struct {
	// Deletion is set for the forecast of the component's deletion.
	Deletion bool
	// Inputs are the values of inputs in spec.inputs, by their names.
	Inputs map[string]any
}

// Component returns the forecast for the component in the cluster.
func Component(ctx context.Context, gate egress.Gate, target cluster.Target, a Assumed) (Result, error) {
	r, err := ofCluster(ctx, gate, target, a)
	if err == nil && r.Deletion {
		live := cluster.Object{Cluster: gate.Cluster, Target: target, Live: r.Component}
		r.Readers, r.ReadersUnknown = readers.Of(ctx, live)
	}
	return r, err
}

// ofCluster returns the forecast for the component in the cluster, without its readers.
func ofCluster(ctx context.Context, gate egress.Gate, target cluster.Target, a Assumed) (Result, error) {
	if !target.IsReadyMade() {
		if a.Deletion {
			return deletionOfOther(ctx, gate.Cluster, target)
		}
		return Result{}, errNotReadyMade(target)
	}
	obj, err := gate.Cluster.Find(ctx, target)
	if err != nil {
		return Result{}, err
	}
	result := Result{Target: target, Component: obj, Deletion: a.Deletion}
	return complete(ctx, gate, result, rendered{inputs: a.Inputs})
}

// Applied returns the forecast for the component that fairlead apply would write for a change. The forecast takes over
// existing objects as fairlead apply --adopt does.
func Applied(ctx context.Context, gate egress.Gate, target cluster.Target, change Change) (Result, error) {
	publisher := publish.Publisher{Client: gate.Cluster.Client, Warn: change.Warn}
	request := publish.Request{
		Target: target, Archive: change.Archive, Manifest: change.Manifest, Fields: change.Fields, Adopt: change.Adopt,
	}
	obj, sources, err := publisher.Preview(ctx, request)
	if err != nil {
		return Result{}, err
	}
	return complete(ctx, gate, Result{Target: target, Component: obj}, rendered{
		contents: contentsOf(sources), archive: change.Archive, inputs: change.Inputs, place: change.Place,
		adoptUnowned: true,
	})
}

// Manifest returns the forecast for the component after an apply of its manifest, whose source stays. The component
// need not exist.
func Manifest(ctx context.Context, gate egress.Gate, target cluster.Target, change Change) (Result, error) {
	publisher := publish.Publisher{Client: gate.Cluster.Client, Warn: change.Warn}
	obj, err := publisher.PreviewManifest(ctx, publish.Request{
		Target: target, Manifest: change.Manifest, Fields: change.Fields, Adopt: change.Adopt,
	})
	if err != nil {
		return Result{}, err
	}
	return complete(ctx, gate, Result{Target: target, Component: obj}, rendered{inputs: change.Inputs})
}

// CheckReadyMade returns an error if the component is not of the ready-made operator.
func CheckReadyMade(target cluster.Target) error {
	if !target.IsReadyMade() {
		return errNotReadyMade(target)
	}
	return nil
}

func errNotReadyMade(target cluster.Target) error {
	return exit.BadUsage("%s: only its own operator can render it, so there is no preview of an apply; "+
		"fairlead tree shows its dependents as they are, and fairlead plan --delete shows what its deletion would do", target)
}

// rendered are contents and values that a preview uses in place of those in the cluster.
type rendered struct {
	// contents replace those of referenced objects, and inputs the values of inputs.
	contents generator.References
	inputs   map[string]any
	// archive is used in place of a download from its URL. It may be empty.
	archive publish.Archive
	// place is the folder or the archive that the component comes from, so that a person can correct its errors there. It
	// is empty if there is none.
	place string
	// adoptUnowned previews spec.adopt as if it named all existing objects without an owner.
	adoptUnowned bool
	// places receives the source files of the dependents. It may be nil.
	places *render.Places
}

// placesOf returns a place for the source files of a component.
func placesOf(typed *v1alpha1.Component) *render.Places {
	return &render.Places{Namespace: cmp.Or(typed.Spec.TargetNamespace, typed.Namespace)}
}

// open returns the preview of a component with the rights that gate grants.
func open(
	ctx context.Context, gate egress.Gate, typed *v1alpha1.Component, use egress.Use, from rendered,
) (preview.Preview[*v1alpha1.Component], error) {
	if from.places == nil {
		from.places = placesOf(typed)
	}
	inputs, err := operator.GivenInputs(typed, from.inputs)
	if err != nil {
		return preview.Preview[*v1alpha1.Component]{}, exit.BadUsage("--input: %w", err)
	}
	access, err := gate.Open(ctx, typed, use)
	if err != nil {
		return preview.Preview[*v1alpha1.Component]{}, err
	}
	p, err := operator.Preview(gate.Cluster.Config(), operator.PreviewOptions{
		Contents: from.contents, Inputs: inputs, User: access.User, CallFunctions: access.CallFunctions,
		Locate: from.places.Add,
	})
	if from.archive.URL != "" {
		p.Options.Fetcher = Downloaded{Fetcher: p.Options.Fetcher, Archive: from.archive}
	}
	return p, err
}

// complete adds the forecast to a result.
func complete(ctx context.Context, gate egress.Gate, r Result, from rendered) (Result, error) {
	typed := &v1alpha1.Component{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(r.Component.Object, typed); err != nil {
		return Result{}, err
	}
	r.Deletion = r.Deletion || r.Component.GetDeletionTimestamp() != nil
	r.Places = placesOf(typed)
	from.places = r.Places
	p, err := open(ctx, gate, typed, egress.Use{Renders: !r.Deletion, Connects: true}, from)
	if err != nil {
		return Result{}, err
	}
	p.AdoptUnowned = from.adoptUnowned
	run := p.Apply
	if r.Deletion {
		run = p.Delete
	}
	r.Forecast, err = run(ctx, typed)
	r.Adoptions = adoptionsOf(r.Forecast, false)
	if err == nil {
		r.addExternals(ctx, gate.Cluster)
	}
	if err == nil && !r.Deletion && !from.adoptUnowned {
		r.Permissible = permissible(ctx, p, typed, r.Forecast)
	}
	if err == nil && r.Deletion {
		r.Rights, err = deletionrights.OfDeletion(ctx, gate.Cluster, r.Target, r.Component)
	}
	err = render.WithPlaces(render.WithRemedy(err, from.place, typed.Spec.Path), r.Places)
	return r, explainRefusal(r.Target, err, from.place != "")
}

// permissible returns the take-overs that entries in spec.adopt would permit, of the objects with an ownership conflict
// in a forecast. Without such objects, or if it cannot be found out, it returns nothing.
func permissible(
	ctx context.Context, p preview.Preview[*v1alpha1.Component], typed *v1alpha1.Component, forecast result.Forecast,
) []result.Step {
	conflicts := map[string]bool{}
	for _, w := range forecast.Waiting {
		if w.Reason == metav1alpha1.ReasonOwnershipConflict {
			conflicts[w.Dependent] = true
		}
	}
	if len(conflicts) == 0 {
		return nil
	}
	p.AdoptUnowned = true
	assumed, err := p.Apply(ctx, typed)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(adoptionsOf(assumed, false), func(s result.Step) bool { return !conflicts[s.Key.String()] })
}

// contentsOf returns the contents of the ConfigMaps of a source.
func contentsOf(sources []*corev1.ConfigMap) generator.References {
	contents := generator.References{}
	for _, source := range sources {
		reference := generator.Reference{
			Kind: metav1alpha1.ConfigMapReference, Namespace: source.Namespace, Name: source.Name,
		}
		contents[reference] = source.BinaryData
	}
	return contents
}

// Unreadable returns an error that names the objects that the preview could not read, or nil if it could read all.
func (r Result) Unreadable() error {
	var objects []string
	for _, key := range r.Forecast.Unread {
		objects = append(objects, key.String())
	}
	for _, blocked := range r.Forecast.Blocked {
		if blocked.Error != "" {
			objects = append(objects, "instances of "+blocked.Type)
		}
	}
	return exit.Unreadable(r.Target.String(), objects)
}

// explainRefusal converts an error of a preview into an error with an exit code, which depends on the reason.
func explainRefusal(target cluster.Target, err error, fromFolder bool) error {
	var refused *preview.RefusedError
	if !errors.As(err, &refused) {
		return err
	}
	text := fmt.Sprintf("%s: the operator would do nothing: %s: %s", target, refused.Reason, err)
	unread := fmt.Sprintf("%s: the next writes of the operator cannot be computed: %s", target, err)
	switch hasInputs := len(operator.InputErrors(err)) > 0; {
	case hasInputs && exit.IsUnasked(refused.Cause):
		return exit.Unasked("%s", unread)
	case errors.Is(refused, operator.ErrNotPolled):
		return exit.BadInput("%s", unread)
	case refused.Reason == metav1alpha1.ReasonForbidden:
		// A preview has the rights of the person; the operator may have the right.
		return exit.Unasked("%s", unread)
	case !refused.Terminal, exit.IsUnasked(refused.Cause):
		return exit.Unasked("%s", text)
	case fromFolder:
		return exit.BadInput("%s", text)
	}
	return exit.Refuse("%s", text)
}
