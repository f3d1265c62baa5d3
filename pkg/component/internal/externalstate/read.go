package externalstate

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/pkg/component/internal/records"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Read reads the states of the externals of a component from the Secrets in a namespace, for a reader who need not have
// the right to list Secrets: one request for each Secret, and one more. Secrets after a removed one are not read.
func Read(ctx context.Context, get records.Get, owner manifests.Owner, namespace string) (*Record, error) {
	store := records.NewStore(records.Options{Reconciler: owner.Reconciler})
	r := &Record{owner: owner, namespace: namespace}
	for number := range maxSecrets {
		name := types.NamespacedName{Namespace: namespace, Name: records.ExternalsName(owner.ID(), number)}
		object, err := get(ctx, name)
		if apierrors.IsNotFound(err) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read Secret %s: %w", name, err)
		}
		if !store.IsMarked(object, owner) && !store.IsIntact(object) {
			continue
		}
		loaded, err := read(ctx, owner, object, store.IsIntact(object))
		if err != nil {
			return nil, err
		}
		r = r.put(loaded)
	}
	return r, nil
}
