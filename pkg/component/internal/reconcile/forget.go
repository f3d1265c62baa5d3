package reconcile

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Forgetters are the functions that drop what the process keeps of a component. Each cache is entered where it is
// built. The functions are called in the order in which they were entered. The zero value is ready to use, and safe for
// concurrent use.
type Forgetters struct {
	mu        sync.Mutex
	component []func(types.NamespacedName)
	owner     []func(manifests.Owner)
}

// OfComponent enters a function that drops what is kept by the name of a component.
func (f *Forgetters) OfComponent(forget func(types.NamespacedName)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.component = append(f.component, forget)
}

// OfOwner enters a function that drops what is kept for the owner id of a component, such as watches on its dependents.
func (f *Forgetters) OfOwner(forget func(manifests.Owner)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.owner = append(f.owner, forget)
}

// Forget drops all that is kept of a component that does not exist any more. owner is its last known owner id.
func (f *Forgetters) Forget(name types.NamespacedName, owner manifests.Owner) {
	f.mu.Lock()
	forgetters := slices.Clone(f.component)
	f.mu.Unlock()
	for _, forget := range forgetters {
		forget(name)
	}
	f.ForgetOwner(owner)
}

// ForgetOwner drops what is kept for an owner id. The component may still exist and have another owner id.
func (f *Forgetters) ForgetOwner(owner manifests.Owner) {
	f.mu.Lock()
	forgetters := slices.Clone(f.owner)
	f.mu.Unlock()
	for _, forget := range forgetters {
		forget(owner)
	}
}
