package engine

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/pkg/component/internal/records"
	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/pkg/manifests/normalise"
)

// normalised returns the objects of rendered manifests.
func (s *Standalone) normalised(p Request, rendered []*unstructured.Unstructured) ([]manifests.Object, error) {
	client := s.engine.client
	objects, err := normalise.Manifests(rendered, normalise.Options{
		Reconciler: s.engine.name, Namespace: p.Owner.Namespace, Owner: p.Owner, RemoteTarget: client.RemoteTarget,
		ScopeOf: s.engine.Scope, StatusIsSubresource: client.Discovery.HasStatusSubresource, Managed: p.Managed,
	})
	if err != nil {
		return nil, fmt.Errorf("the rendered manifests of %s: %w", p.Owner.Component(), err)
	}
	var errs []error
	for _, o := range objects {
		if err := s.refusal(p.Owner, o); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", o.Key, err))
		}
	}
	return objects, errors.Join(errs...)
}

var (
	secretKind    = schema.GroupKind{Kind: "Secret"}
	namespaceKind = schema.GroupKind{Kind: "Namespace"}
)

// refusal returns the reason why an object must not be in the set of an owner, or nil. An inventory in a Secret lasts
// until the end of the deletion of its owner, so no set may contain what the Secret or the owner needs.
func (s *Standalone) refusal(owner manifests.Owner, o manifests.Object) error {
	isHere := !s.engine.client.RemoteTarget
	switch {
	case o.Settings.Phase != manifests.PhaseApply:
		return errors.New("it is for the deletion of the set; give it to Delete in Request.PreDelete or Request.PostDelete")
	case isHere && o.Key == owner.Component():
		return errors.New("an object cannot be a dependent of itself, because it could never be deleted")
	case isHere && owner.Namespace == "" && o.Key.GroupKind() == namespaceKind && o.Key.Name == s.options.Namespace:
		return errors.New("this namespace contains the Secret with the inventory; set another StandaloneOptions.Namespace")
	case o.Key.GroupKind() == secretKind && records.IsName(o.Key.Name):
		return errors.New("the name is reserved for inventories; rename the Secret")
	}
	return nil
}
