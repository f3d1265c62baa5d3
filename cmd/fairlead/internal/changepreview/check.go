package changepreview

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/egress"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/publish"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/render"
	"github.com/fairlead-io/fairlead/internal/operator"
	"github.com/fairlead-io/fairlead/pkg/component/preview"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Sources are what a Check renders instead of the content of the cluster.
type Sources struct {
	// ConfigMaps have the source, unless it is behind a URL. Archive is the source in any case.
	ConfigMaps []*corev1.ConfigMap
	Archive    publish.Archive
	// Place is the folder or the archive that the source comes from.
	Place string
	// Inputs are the values of inputs; see Assumed.
	Inputs map[string]any
}

// Findings are what an operator would do with a component that is not written yet, as far as a person should know it
// before the component is written.
type Findings struct {
	// Adoptions are the steps that take over an existing object which spec.adopt of the component does not permit, and
	// Listed those that it permits, and those of objects that the component itself released. They include the steps of
	// the deletion of the component that take over an object which exists now.
	Adoptions, Listed []result.Step
	// AtDeletion are the objects that exist now and that the deletion of the component would have to wait for.
	AtDeletion []result.Waiting
	// Refused are the objects that the operator could not apply, whatever happens outside the component: the API server
	// refuses them, or they belong to somebody else.
	Refused []result.Waiting
	// Dropped are the fields that the API server drops.
	Dropped []result.DroppedField
	// Places are the source files of the dependents.
	Places *render.Places
	// Unchecked are the writes of which it is not known whether the API server accepts them.
	Unchecked []Unchecked
	// Unread is set if it is not known of some of these whether the object exists.
	Unread bool
	// Unserved are the dependents whose types the API server does not serve, and that nothing in the component defines.
	Unserved []result.Waiting
	// Notes are the notes of the component.
	Notes Notes
}

// Notes are the notes of a component, rendered with its dependents. They are final if each rendering of the same inputs
// has the same notes, also after the operator has applied the component.
type Notes struct {
	Text  string
	Final bool
}

// Unchecked is a reason why writes were not checked. Object is the first of the objects, and More the number of the
// others.
type Unchecked struct {
	Object, Reason string
	More           int
}

// UnplannedError is the error of a Check that can make no plan, for example because the person may not read an input.
// The operator may be able to apply the component.
type UnplannedError struct{ Cause error }

// Error implements error.
func (e *UnplannedError) Error() string { return e.Cause.Error() }

// Unwrap returns the cause.
func (e *UnplannedError) Unwrap() error { return e.Cause }

// trials makes trials of all renderings, because nobody uses their random values. It keeps the notes of the last one.
type trials struct {
	generator.Generator

	notes *Notes
}

// Generate implements generator.Generator.
func (t trials) Generate(ctx context.Context, req generator.Request) ([]client.Object, error) {
	req.Trial = true
	said := ""
	req.Notes = func(text string) { said = text }
	objects, proven, err := generator.Prove(ctx, t.Generator, req)
	*t.notes = Notes{Text: said, Final: err == nil && proven}
	return objects, err
}

// Version implements generator.Versioner.
func (t trials) Version() string { return generator.VersionOf(t.Generator) }

// maxCheck bounds the time for a plan before an apply.
const maxCheck = 2 * time.Minute

// Check plans the writes of the operator for a component with the given sources, with the rights that gate grants, as
// if spec.adopt of the component named all existing objects without an owner. It returns an error of bad input if the
// component does not render, a refusal if its target has changed while it has dependents, and an UnplannedError if that
// cannot be found out.
func Check(
	ctx context.Context, gate egress.Gate, target cluster.Target, obj *unstructured.Unstructured, change Sources,
) (Findings, error) {
	typed := &v1alpha1.Component{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, typed); err != nil {
		return Findings{}, err
	}
	if typed.Spec.Function != nil {
		// The API server refuses a component with a function and a source.
		return Findings{}, nil
	}
	use := egress.Use{Renders: true, Connects: true}
	places := placesOf(typed)
	from := rendered{
		contents: contentsOf(change.ConfigMaps), archive: change.Archive, inputs: change.Inputs, places: places,
	}
	p, err := open(ctx, gate, typed, use, from)
	if exit.IsBadUsage(err) {
		return Findings{}, err
	}
	if err != nil {
		return Findings{}, &UnplannedError{Cause: err}
	}
	p.AdoptUnowned = true
	limited, cancel := context.WithTimeout(ctx, maxCheck)
	defer cancel()
	once, notes := p, Notes{}
	once.Options.SkipDeterminismCheck, once.Generator = true, trials{Generator: p.Generator, notes: &notes}
	forecast, err := once.Apply(limited, typed)
	if err == nil && slices.ContainsFunc(forecast.Steps, mayKeepValues(typed.Spec.AdoptionPolicy)) {
		forecast, err = p.Apply(limited, typed)
	}
	switch {
	case ctx.Err() != nil:
		return Findings{}, ctx.Err()
	case limited.Err() != nil:
		return Findings{}, &UnplannedError{Cause: fmt.Errorf("it takes longer than %s", maxCheck)}
	case err != nil:
		return Findings{}, refusalOf(render.WithPlaces(err, places), target, change.Place, typed.Spec.Path)
	}
	notes.Final = notes.Final && !slices.ContainsFunc(forecast.Steps, definesTypes)
	found := findingsOf(forecast)
	found.Places, found.Dropped, found.Notes = places, forecast.Dropped, notes
	return found, nil
}

// mayKeepValues returns a function that reports whether a step takes over an object whose generated values, such as
// passwords, the operator keeps, although the step seems to change values. Only a second rendering shows which values
// are generated. policy is the adoption policy of manifests that set none.
func mayKeepValues(policy metav1alpha1.AdoptionPolicy) func(result.Step) bool {
	return func(s result.Step) bool {
		if s.Adopts == nil || len(s.Adopts.Lost) == 0 {
			return false
		}
		always := s.Manifest != nil && cmp.Or(s.Manifest.Settings.AdoptionPolicy, policy) == metav1alpha1.AdoptAlways
		return s.Adopts.Moved || s.Adopts.Released || always
	}
}

// definesTypes reports whether a step changes the types that the API server serves, which notes may ask for.
func definesTypes(s result.Step) bool {
	return s.Key.Group == "apiextensions.k8s.io" || s.Key.Group == "apiregistration.k8s.io"
}

// refusalOf returns the error of a Check whose plan ended with an error.
func refusalOf(err error, target cluster.Target, place, folder string) error {
	refused, ok := errors.AsType[*preview.RefusedError](err)
	switch {
	case !ok, len(operator.InputErrors(err)) > 0:
		return &UnplannedError{Cause: render.WithRemedy(err, "", "")}
	case errors.Is(refused, preview.ErrPlacement):
		return exit.Refuse("%s is not applied: %s: %w", target, refused.Reason, refused)
	case isOfSource(refused):
		return exit.BadInput("%s is not applied, because it does not render: %s: %w", target, refused.Reason,
			render.WithRemedy(err, place, folder))
	}
	return &UnplannedError{Cause: fmt.Errorf("%s: %w", refused.Reason, refused)}
}

// isOfSource reports whether the operator would refuse a component for the same reason: because of its source and its
// values, and not because of missing rights or of the state of the cluster.
func isOfSource(refused *preview.RefusedError) bool {
	byRendering := refused.Reason == metav1alpha1.ReasonGenerateFailed ||
		refused.Reason == metav1alpha1.ReasonInvalidManifests
	return refused.Terminal && byRendering && !exit.IsUnasked(refused.Cause)
}

func findingsOf(forecast result.Forecast) Findings {
	f := Findings{
		Adoptions: adoptionsOf(forecast, false), Listed: adoptionsOf(forecast, true),
		AtDeletion: forecast.AtDeletion.Conflicts,
	}
	written, unchecked := map[manifests.Key]bool{}, map[string]bool{}
	for _, s := range forecast.Steps {
		// A preview asks no external, and checks only the first of several writes of an object.
		if s.Unchecked != "" && !s.Key.IsExternal() && !written[s.Key] {
			f.addUnchecked(s.Key.String(), s.Unchecked)
			unchecked[s.Key.String()] = true
		}
		written[s.Key] = true
	}
	for _, w := range forecast.Waiting {
		switch {
		case w.Undefined:
			f.Unserved = append(f.Unserved, w)
		case w.Refused:
			f.Refused = append(f.Refused, w)
		case w.Failed && !isOfLiveObject(w) && !unchecked[w.Dependent], waitsForValue(w):
			f.addUnchecked(w.Dependent, w.Reason+": "+w.Message)
			f.Unread = true
		}
	}
	f.addUnreadAtDeletion(forecast.AtDeletion.Unread)
	return f
}

// addUnreadAtDeletion adds the objects of deletion phases of which it is not known whether they exist.
func (f *Findings) addUnreadAtDeletion(unread []result.Waiting) {
	for _, w := range unread {
		f.addUnchecked(w.Dependent,
			"it is for the deletion of the component, and may exist already: "+w.Reason+": "+w.Message)
	}
}

// adoptionsOf returns the steps that take over an existing object, and that need no entry in spec.adopt, or need one.
func adoptionsOf(forecast result.Forecast, listed bool) (adoptions []result.Step) {
	for _, s := range slices.Concat(forecast.Steps, forecast.AtDeletion.Adoptions) {
		if s.Adopts != nil && (s.Adopts.Listed || s.Adopts.Released) == listed {
			adoptions = append(adoptions, s)
		}
	}
	return adoptions
}

// waitsForValue reports whether objects wait for a value that the preview does not know. Nothing is known about their
// writes then, not even whether they take over existing objects.
func waitsForValue(w result.Waiting) bool {
	switch w.Reason {
	case metav1alpha1.ReasonExportMissing, metav1alpha1.ReasonRenderingIncomplete, "ConditionUndecided":
		return true
	}
	return false
}

// isOfLiveObject reports whether an object fails that is applied already, so that no write of it was checked.
func isOfLiveObject(w result.Waiting) bool {
	return w.Reason == metav1alpha1.ReasonDependentFailed || w.Reason == metav1alpha1.ReasonTimeout
}

// Entries returns the entries of spec.adopt that permit steps, for the objects that the steps take over and for no
// other object of the same name.
func Entries(steps []result.Step) []metav1alpha1.AdoptRule {
	var entries []metav1alpha1.AdoptRule
	for _, s := range steps {
		entries = append(entries, metav1alpha1.AdoptRule{
			Group: s.Key.Group, Kind: s.Key.Kind, Namespace: s.Key.Namespace, Name: s.Key.Name, UID: s.Adopts.UID,
		})
	}
	return entries
}

func (f *Findings) addUnchecked(object, reason string) {
	same := func(u Unchecked) bool { return u.Reason == reason }
	if i := slices.IndexFunc(f.Unchecked, same); i >= 0 {
		f.Unchecked[i].More++
		return
	}
	f.Unchecked = append(f.Unchecked, Unchecked{Object: object, Reason: reason})
}
