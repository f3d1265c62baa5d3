package explain

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/changes"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/egress"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/notes"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/render"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/show"
	"github.com/fairlead-io/fairlead/internal/fieldpath"
	"github.com/fairlead-io/fairlead/internal/marks"
	"github.com/fairlead-io/fairlead/internal/operator"
	"github.com/fairlead-io/fairlead/pkg/component/tree"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Result is an explanation. It is incomplete if the API server refused a read.
type Result struct {
	show.Why
	// Unreadable is the error of the first refused read, or nil if no read was refused.
	Unreadable error
}

// unknown adds a fact that could not be determined, with the error as the reason.
func (r *Result) unknown(what string, err error) {
	r.Unknown = append(r.Unknown, what+": "+exit.Line(err))
	if r.Unreadable == nil && (exit.IsUnasked(err) || isMissingRight(err)) {
		r.Unreadable = exit.Unasked("%s: the explanation is incomplete: %w", r.Object, err)
	}
}

// isMissingRight reports whether a rendering was refused because the person may not impersonate an identity.
func isMissingRight(err error) bool {
	_, ok := errors.AsType[*egress.Refusal](err)
	return ok && exit.CodeOf(err) == exit.NotAsked
}

// Rendering contains the inputs for the rendering of components.
type Rendering struct {
	// Gate grants the rights of the rendering.
	Gate egress.Gate
	// About reads what the cluster serves.
	About notes.Discovery
	// Inputs are given values of inputs in spec.inputs, by their names.
	Inputs map[string]any
}

// Object explains an object or, if path is not empty, a field of the object. It renders the component if it can. It
// returns an error if the object has no such field, or if the object neither is a dependent nor was created by
// controllers for a dependent.
func Object(
	ctx context.Context, rendering Rendering, o cluster.Object, path changes.Path,
) (Result, error) {
	r := Result{Why: show.Why{Object: identity(o.Live)}}
	if path != nil {
		var err error
		if r.Field, err = field(o.Target, o.Live, path); err != nil {
			return r, err
		}
	}
	dependent, owner, err := dependentOf(ctx, o.Cluster, o.Live, &r)
	if err != nil {
		return r, err
	}
	if dependent != o.Live {
		// A controller created the object for the dependent, so no manifest sets the field.
		path = nil
		if r.Field != nil {
			r.Field.Unknown = false
		}
	}
	e := explainer{cluster: o.Cluster, rendering: rendering, dependent: dependent, path: path, result: &r}
	err = e.explain(ctx, owner)
	return r, err
}

// explainer explains one dependent.
type explainer struct {
	cluster   *cluster.Cluster
	rendering Rendering
	dependent *unstructured.Unstructured
	// path is the explained field of the dependent, or nil if no field is explained.
	path   changes.Path
	result *Result
}

// explain adds facts from the records of the dependent's component, and from a rendering of the component.
func (e explainer) explain(ctx context.Context, owner manifests.Owner) error {
	r := e.result
	r.Component, r.Reconciler = owner.Component().String(), owner.Reconciler
	r.Settings = manifestSettings(e.dependent, owner.Reconciler)
	if e.path != nil && r.Field != nil {
		r.Field.Ignored = e.ignoredBy()
	}
	mapping, err := e.cluster.ResolveType(owner.Kind + "." + owner.Group)
	if err != nil {
		r.unknown("the component", err)
		return nil
	}
	target := cluster.Target{Mapping: mapping, Namespace: owner.Namespace, Name: owner.Name}
	obj := target.Blank()
	err = e.cluster.Get(ctx, client.ObjectKeyFromObject(obj), obj)
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		r.unknown("the component, which may be in another cluster", err)
		return nil
	}
	if err != nil {
		return err
	}
	if err := e.addRecord(ctx, target, obj); err != nil {
		return err
	}
	if !target.IsReadyMade() {
		r.Unknown = append(r.Unknown, "file and values: only the operator of this type can render the component")
		return nil
	}
	if o := e.cluster.Operator(ctx, target); o.State == cluster.OperatorAbsent {
		r.Unknown = append(r.Unknown, "whether the status of the component is current: "+o.Message)
	}
	return e.addOrigin(ctx, obj)
}

// ignoredBy says by which rule the field is left to others. It returns an empty text if there is no such rule.
func (e explainer) ignoredBy() string {
	before, _ := e.path.At(e.dependent)
	for _, ignored := range tree.IgnoredFields(e.dependent) {
		path, err := fieldpath.Parse(ignored.Path)
		if err != nil {
			continue
		}
		stripped := &unstructured.Unstructured{Object: path.Without(e.dependent.Object)}
		if after, found := e.path.At(stripped); !found || !reflect.DeepEqual(before, after) {
			return fmt.Sprintf("by %s in the %s", ignored.Path, show.IgnoredBy(ignored.Source))
		}
	}
	return ""
}

// manifestSettings returns the settings in the annotations of an object, without those that identify it.
func manifestSettings(obj *unstructured.Unstructured, reconciler string) map[string]string {
	settings := map[string]string{}
	for key, value := range obj.GetAnnotations() {
		name, isSetting := strings.CutPrefix(key, reconciler+"/")
		if isSetting && name != manifests.AnnotationOwnerID && name != marks.AnnotationDigest &&
			name != marks.AnnotationObject {
			settings[name] = value
		}
	}
	return settings
}

// addRecord adds the revision of the component, and the waves of the dependent in its inventory.
func (e explainer) addRecord(ctx context.Context, target cluster.Target, obj *unstructured.Unstructured) error {
	status, err := cluster.StatusIfAny(target, obj)
	if err != nil {
		return err
	}
	e.result.Revision, e.result.HeldUp = status.Revision, componentHeldUp(status)
	e.result.LeftOut = leftOut(e.wanted().Key, status)
	inventory, err := tree.Inventory(ctx, e.cluster, &status)
	if err != nil {
		e.result.unknown("part of the inventory", err)
	}
	for _, entry := range inventory {
		if entry.UID == e.dependent.GetUID() {
			e.result.Recorded, e.result.Wave, e.result.DeleteWave = true, entry.Order, entry.EffectiveDeleteOrder()
			if err := e.addCauses(ctx, entry, status.Waiting); err != nil {
				return err
			}
		}
	}
	return nil
}

// addCauses adds to the result the failure of the last write and, if the dependent is not ready or not updated, the
// causes. If the user asked for the explanation of a field instead of the whole object, addCauses adds nothing. waiting
// is the list status.waiting of the component.
func (e explainer) addCauses(
	ctx context.Context, entry metav1alpha1.InventoryEntry, waiting []metav1alpha1.DependentReport,
) error {
	if e.result.Field != nil || entry.External {
		return nil
	}
	nodes, err := tree.Read(ctx, e.cluster, []metav1alpha1.InventoryEntry{entry})
	if err != nil {
		return err
	}
	for _, n := range tree.AddFailures(nodes, waiting) {
		var report metav1alpha1.DependentReport
		for _, w := range waiting {
			if w.Dependent == n.Key.String() {
				report = w
			}
		}
		e.addState(ctx, n, report)
	}
	return nil
}

// addOrigin renders the component, and adds the file that renders the dependent and the values that affect it.
func (e explainer) addOrigin(ctx context.Context, obj *unstructured.Unstructured) error {
	r := e.result
	traced := &v1alpha1.Component{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, traced); err != nil {
		return err
	}
	p, err := e.trace(ctx, traced)
	switch {
	case exit.IsBadUsage(err):
		return err
	case err != nil:
		r.unknown("file and values", render.WithRemedy(err, "", ""))
		return nil
	case p.Rendered == nil:
		r.Unknown = append(r.Unknown, "file and values: the component does not render this object any more")
		return nil
	}
	r.File, r.Values = p.File, p.Values
	if p.Unknown != "" {
		r.Unknown = append(r.Unknown, "whether other values affect it: "+p.Unknown)
	}
	if p.File == "" {
		r.Unknown = append(r.Unknown, "file: the generator does not report it")
	}
	bound := boundValues(p.Rendered, e.dependent, r.Reconciler)
	if e.path != nil && r.Field != nil {
		rendered, set := e.path.At(p.Rendered)
		live, _ := e.path.At(e.dependent)
		r.Field.Unknown, r.Field.Rendered, r.Field.Differs = false, set, set && !reflect.DeepEqual(rendered, live)
		if r.Field.Binds = holesBelow(bound, e.path, e.dependent); len(r.Field.Binds) > 0 {
			r.Field.Differs = false
		}
		return nil
	}
	r.Bound = bound
	return nil
}

// trace renders the component, and finds the origin of the dependent.
func (e explainer) trace(ctx context.Context, traced *v1alpha1.Component) (operator.Provenance, error) {
	access, err := e.rendering.Gate.Open(ctx, traced, egress.Use{Renders: true})
	if err != nil {
		return operator.Provenance{}, err
	}
	reader := notes.Reader{
		About: e.rendering.About, Credentials: access.CallFunctions, Inputs: e.rendering.Inputs,
	}
	if reader.Client, err = e.rendering.Gate.Client(access); err != nil {
		return operator.Provenance{}, err
	}
	req, err := reader.Request(ctx, traced)
	if err != nil {
		return operator.Provenance{}, err
	}
	wanted := e.wanted()
	wanted.CallFunctions = access.CallFunctions
	return operator.Trace(ctx, req, wanted)
}

func (e explainer) wanted() operator.Wanted {
	gvk := e.dependent.GroupVersionKind()
	wanted := operator.Wanted{Key: manifests.Key{
		Group: gvk.Group, Kind: gvk.Kind, Namespace: e.dependent.GetNamespace(), Name: e.dependent.GetName(),
	}}
	if e.path != nil {
		wanted.At = e.path.At
	}
	return wanted
}
