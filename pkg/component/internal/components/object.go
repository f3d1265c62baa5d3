package components

import (
	"fmt"
	"reflect"

	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/authorcode"
)

// Object is a component.
type Object interface {
	client.Object
	// GetStatus returns a pointer to the status in the object. It never returns nil.
	GetStatus() *metav1alpha1.Status
}

// Suspended reports whether an object is a suspended component. It calls code of the type's author, which may panic.
func Suspended(obj client.Object) bool {
	s, ok := Implementation[interface{ Suspended() bool }](obj)
	return ok && s.Suspended()
}

// suspendedOrFalse is Suspended for watch handlers, and returns false if the author's code panics. A panic in a watch
// handler would end the process, and again after each restart. The pass over the component also calls Suspended, and
// reports the panic as an error of that component.
func suspendedOrFalse(obj client.Object) bool {
	suspended, err := authorcode.Call("Suspended", func() (bool, error) { return Suspended(obj), nil })
	return suspended && err == nil
}

// copyOf returns a deep copy of an object. It returns an error if DeepCopyObject returns another type. This is a
// mistake of the type's author: a struct that embeds another type and has no DeepCopyObject of its own is copied by the
// method of the embedded type.
func copyOf(obj Object) (Object, error) {
	copied, ok := obj.DeepCopyObject().(Object)
	if !ok || reflect.TypeOf(copied) != reflect.TypeOf(obj) {
		return nil, fmt.Errorf("DeepCopyObject of %T returns another type", obj)
	}
	return copied, nil
}
