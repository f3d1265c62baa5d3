package reconcile

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/input"
	"github.com/fairlead-io/fairlead/pkg/component/internal/schedule"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Component is a component in a pass: the object, and the values that it declares.
type Component struct {
	components.Object
	Declared
	Memory *Memory
}

// Name returns the namespace and the name.
func (c *Component) Name() types.NamespacedName { return client.ObjectKeyFromObject(c.Object) }

// IsDeleted reports whether the component is being deleted.
func (c *Component) IsDeleted() bool { return !c.GetDeletionTimestamp().IsZero() }

// SetStatus replaces the status.
func (c *Component) SetStatus(s metav1alpha1.Status) { *c.GetStatus() = s }

// Declared are the values that a component declares, apart from the inputs of its rendering.
type Declared struct {
	Target target.Declaration
	// Namespace is the default namespace of the dependents.
	Namespace string
	Policies  metav1alpha1.Policies
	// AllowEmpty permits an empty apply set where there are dependents.
	AllowEmpty bool
	// ManagedTypes are the additional managed types.
	ManagedTypes []metav1alpha1.TypePattern
}

// Author is the code of an operator's author, as far as a pass calls it.
type Author interface {
	// Declare reads what a component declares. It is called after the hook PostRead, which may fill in defaults, and
	// again after PreReconcile.
	Declare(obj components.Object) Declared
	// Intervals returns the intervals of a component. It is called at the end of a pass.
	Intervals(obj components.Object) schedule.Intervals
	// Validate checks the spec of a component. Errors are condition errors.
	Validate(obj components.Object) error
	// Inputs reads what a component declares about its inputs. Errors are condition errors.
	Inputs(obj components.Object) (input.Declaration, error)
	// Hook returns the hook of a point, nil without one.
	Hook(point Point) Hook
}

// Point is a point of a pass at which a hook is called.
type Point string

// The points.
const (
	PostRead      Point = "PostRead"
	PreReconcile  Point = "PreReconcile"
	PostReconcile Point = "PostReconcile"
	PreDelete     Point = "PreDelete"
	PostDelete    Point = "PostDelete"
)

// Hook is a hook of an author.
type Hook func(ctx context.Context, obj components.Object, dependents DependentReader) error

// DependentReader reads the dependents of a component.
type DependentReader interface {
	// Get reads a dependent. The error is NotFound if it does not exist, or is no dependent of the component.
	Get(ctx context.Context, key manifests.Key) (*unstructured.Unstructured, error)
}
