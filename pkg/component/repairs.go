package component

import (
	"maps"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// repairBook remembers, for all owners, the repairs of dependents that did not last, as plans ask for it. It is lost with the process, and
// then counting starts anew. What an owner has there is bounded by its dependents, and replaced at each of its passes.
type repairBook struct {
	mu     sync.Mutex
	owners map[string]rememberedRepairs
}

// rememberedRepairs are those of one owner.
type rememberedRepairs struct {
	insist  string
	repairs map[manifests.Key]plan.Repairs
}

// known returns what is remembered of an owner's dependents: nothing, where somebody insists on repairs since.
func (b *repairBook) known(ownerID, insist string) map[manifests.Key]plan.Repairs {
	b.mu.Lock()
	defer b.mu.Unlock()
	if own := b.owners[ownerID]; own.insist == insist {
		return maps.Clone(own.repairs)
	}
	return nil
}

// keep replaces what is remembered of an owner's dependents.
func (b *repairBook) keep(ownerID, insist string, repairs map[manifests.Key]plan.Repairs) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(repairs) == 0 {
		delete(b.owners, ownerID)
		return
	}
	if b.owners == nil {
		b.owners = map[string]rememberedRepairs{}
	}
	b.owners[ownerID] = rememberedRepairs{insist: insist, repairs: maps.Clone(repairs)}
}

func (b *repairBook) forget(ownerID string) { b.keep(ownerID, "", nil) }

// remember enters what came of an action.
func remember(repairs map[manifests.Key]plan.Repairs, a plan.Action, r plan.Result) {
	if kept, ok := a.Remembered(r); ok {
		repairs[a.Key] = kept
	}
}

// insistence changes when a person changes the component, or asks for a pass: then everything is repaired at once.
func (r *Reconciler[T]) insistence(component client.Object, trigger string) (string, error) {
	return manifests.Digest([]any{trigger, component.GetAnnotations()[r.name+"/"+AnnotationReconcileRequested]})
}
