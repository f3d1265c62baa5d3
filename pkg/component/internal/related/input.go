package related

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/component/internal/eventsources"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Input implements eventsources.EventSource.
func (r *Objects) Input(ctx context.Context, name types.NamespacedName) (eventsources.Input, error) {
	i, of, err := r.users.synced(name)
	if err != nil {
		return eventsources.Input{}, err
	}
	keys := i.objects.keysOf(name, of)
	if len(keys) == 0 {
		return eventsources.Input{}, nil
	}
	digests := make([]string, 0, len(keys))
	for _, key := range keys {
		digest, err := i.digest(ctx, key)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return eventsources.Input{}, err
		}
		digests = append(digests, key.String()+" "+digest)
	}
	digest, _, err := eventsources.Digest(digests)
	return eventsources.Input{
		Digest: digest, Secret: r.options.GVK.Kind == "Secret" && r.options.GVK.Group == "", Objects: r.keysAtHome(i, keys),
		Load: func(ctx context.Context) (any, error) { return r.load(ctx, i, keys) },
	}, err
}

// keysAtHome returns the keys of objects in the cluster of the components, and nil for another cluster.
func (r *Objects) keysAtHome(i *informer, names []client.ObjectKey) []manifests.Key {
	if !i.atHome {
		return nil
	}
	keys := make([]manifests.Key, 0, len(names))
	for _, name := range names {
		keys = append(keys, manifests.Key{
			Group: r.options.GVK.Group, Kind: r.options.GVK.Kind, Namespace: name.Namespace, Name: name.Name,
		})
	}
	return keys
}

// load returns the parts of objects that are the value of an input.
func (r *Objects) load(ctx context.Context, i *informer, keys []client.ObjectKey) (any, error) {
	parts := make([]any, 0, len(keys))
	for _, key := range keys {
		obj, err := i.body(ctx, key)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		part, err := i.convert.partOf(obj)
		if err == nil {
			part, err = eventsources.Plain(part)
		}
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	return parts, nil
}
