package reconcile

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/external"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/input"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/ready"
	"github.com/fairlead-io/fairlead/pkg/component/internal/schedule"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/pkg/manifests/normalise"
)

// Component is the component that a pass works on: the API object, and the values that its spec declares.
type Component struct {
	components.Object
	Declared
	State *State

	// needs is what the stored component declares about other components. Hooks do not change it.
	needs Needs
	// rendered are the objects that the last rendering of the pass returned, if isRendered is set.
	rendered   []manifests.Object
	isRendered bool
	// observed are the entries of the objects that the component only observes, if isPlanned is set.
	observed  []metav1alpha1.InventoryEntry
	isPlanned bool
}

// Name returns the namespace and the name.
func (c *Component) Name() types.NamespacedName { return client.ObjectKeyFromObject(c.Object) }

// IsDeleted reports whether the component is being deleted.
func (c *Component) IsDeleted() bool { return !c.GetDeletionTimestamp().IsZero() }

// hasNoDependentLeft reports whether a component is being deleted and, by an outcome, has no dependents any more.
func (c *Component) hasNoDependentLeft(o outcome.Outcome) bool { return c.IsDeleted() && o.Done() }

// SetStatus replaces the status.
func (c *Component) SetStatus(s metav1alpha1.Status) { *c.GetStatus() = s }

// Declared are the values that the spec of a component declares, apart from the inputs of its rendering, such as
// parameters and references.
type Declared struct {
	Target target.Declaration
	// Namespace is the default namespace of the dependents, and TargetName is the name with which they are rendered.
	Namespace, TargetName string
	Policies              metav1alpha1.Policies
	// Adopt are the existing objects that may be taken over; nil and an empty list differ, see plan.NewAdoptions.
	Adopt []metav1alpha1.AdoptRule
	// AdoptField is the field with these objects, for messages; empty if there is none, or if it is not known.
	AdoptField string
	// AdoptUnowned permits all objects without an owner, also those with the mark of another tool.
	AdoptUnowned bool
	// AllowEmpty permits that a rendering contains no objects although the component has dependents. All dependents are
	// then pruned.
	AllowEmpty bool
	// ManagedTypes are the additional managed types.
	ManagedTypes []metav1alpha1.TypePattern
	// Ignore are the rules of ignored fields: those of the options, and those of the component.
	Ignore []normalise.IgnoreRule
	// Externals handle the externals by kind.
	Externals []external.Driver
	// Exports are the names of the exports that are published in the status.
	Exports []string
}

// Author gives a pass access to the code of an operator's author: the optional interfaces of a component, and the
// hooks.
type Author interface {
	// Declare returns the values that the spec of a component declares. Declare is called after the hook PostRead, and
	// again after the hook PreReconcile, because both hooks may change the spec in memory, for example to fill in
	// defaults.
	Declare(obj components.Object) Declared
	// Intervals returns the intervals of a component. Intervals is called at the end of a pass.
	Intervals(obj components.Object) schedule.Intervals
	// Needs returns what a stored component declares about other components. Needs may be called at any time, and must not
	// change the component.
	Needs(obj components.Object) Needs
	// Validate checks the spec of a component. Validate returns errors of type passerror.Error.
	Validate(obj components.Object) error
	// Inputs returns the inputs that a component declares for its rendering: parameters, references and source. For an
	// invalid spec it returns a passerror.Error.
	Inputs(obj components.Object) (input.Declaration, error)
	// Hooks returns the hooks that the author registered for a point of a pass, in the order in which they are called.
	Hooks(point Point) []Hook
	// Condition evaluates a condition in Go that sees the component, for a copy of a live dependent.
	Condition(obj components.Object, name string, self *unstructured.Unstructured) ready.Result
	// ConditionParameters returns the parameters that the conditions in manifests see, nil if they see the parameters of
	// the component. request makes the request that the author's function gets.
	ConditionParameters(
		ctx context.Context, obj components.Object, request func() (generator.Request, error),
	) (map[string]any, error)
}

// Point is a point of a pass at which a hook is called.
type Point string

// The points of a pass at which hooks are called.
const (
	PostRead      Point = "PostRead"
	PreReconcile  Point = "PreReconcile"
	PostReconcile Point = "PostReconcile"
	PreDelete     Point = "PreDelete"
	PostDelete    Point = "PostDelete"
	PostFailure   Point = "PostFailure"
	PostPass      Point = "PostPass"
)

// Hook is a function of an operator's author that a pass calls. Hook may change obj, and read dependents.
type Hook func(ctx context.Context, obj components.Object, dependents DependentReader, result Result) error

// Result is the result of a pass. It is empty for the hooks that are called before the end of a pass.
type Result struct {
	Outcome outcome.Outcome
	// Failure is the error of the pass, nil if it has none.
	Failure error
}

// DependentReader reads the dependents of a component.
type DependentReader interface {
	// Get reads a dependent. The error is NotFound if the object does not exist, or is not a dependent of the
	// component.
	Get(ctx context.Context, key manifests.Key) (*unstructured.Unstructured, error)
	// List reads all existing dependents of a kind, sorted by namespace and name.
	List(ctx context.Context, kind schema.GroupKind) ([]*unstructured.Unstructured, error)
	// Desired returns a manifest that the pass rendered. The error is NotFound if the rendering contains no such object.
	Desired(key manifests.Key) (*unstructured.Unstructured, error)
}
