package cluster

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/internal/marks"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// MarkedBy returns the objects with the marks of an owner. If some types cannot be listed, it returns those of the
// other types, and the first error.
func (c *Cluster) MarkedBy(ctx context.Context, owner manifests.Owner) (keys []manifests.Key, err error) {
	lists, err := c.served.ServerPreferredResources()
	for _, list := range lists {
		gv, unparsed := schema.ParseGroupVersion(list.GroupVersion)
		if unparsed != nil {
			continue
		}
		for _, r := range list.APIResources {
			if !slices.Contains(r.Verbs, "list") || !slices.Contains(r.Verbs, "delete") {
				continue
			}
			found, unlisted := c.markedBy(ctx, owner, gv.WithKind(r.Kind))
			if err == nil {
				err = unlisted
			}
			keys = append(keys, found...)
		}
	}
	return keys, err
}

func (c *Cluster) markedBy(
	ctx context.Context, owner manifests.Owner, gvk schema.GroupVersionKind,
) (keys []manifests.Key, err error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	prefix := owner.Reconciler + "/"
	if err := c.Client.List(ctx, list, client.MatchingLabels{prefix + manifests.LabelOwnerID: owner.ID()}); err != nil {
		return nil, err
	}
	for _, o := range list.Items {
		key := manifests.Key{Group: gvk.Group, Kind: gvk.Kind, Namespace: o.Namespace, Name: o.Name}
		_, copied := marks.CopyOf(key, o.Annotations, owner.Reconciler)
		// Controllers copy labels to the objects that they create, so the label alone says nothing.
		if !copied && o.Annotations[prefix+manifests.AnnotationOwnerID] == owner.String() {
			keys = append(keys, key)
		}
	}
	return keys, nil
}
