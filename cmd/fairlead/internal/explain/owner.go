package explain

import (
	"context"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/changes"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/show"
	"github.com/fairlead-io/fairlead/internal/marks"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func identity(obj *unstructured.Unstructured) show.WhyObject {
	gvk := obj.GroupVersionKind()
	return show.WhyObject{Group: gvk.Group, Kind: gvk.Kind, Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// field returns the live value of a field and its managers. The value of a Secret is masked.
func field(target cluster.Target, live *unstructured.Unstructured, path changes.Path) (*show.WhyField, error) {
	value, found := path.At(live)
	if !found {
		return nil, exit.Refuse("%s has no field %s", target, path.In(live))
	}
	if changes.IsSecret(live) {
		value = "***"
	}
	return &show.WhyField{Path: path.In(live), Value: value, Unknown: true, Managers: changes.Managers(live, path)}, nil
}

// maxControllers is the maximum number of controller references in the chain from an object to its dependent.
const maxControllers = 8

// dependentOf returns the object itself if it is a dependent, or the dependent for which controllers created the
// object. It also returns the owner of the dependent.
func dependentOf(
	ctx context.Context, c *cluster.Cluster, live *unstructured.Unstructured, r *Result,
) (*unstructured.Unstructured, manifests.Owner, error) {
	obj := live
	for range maxControllers {
		if owner, ok := ownerOf(obj); ok {
			return obj, owner, nil
		}
		ref := metav1.GetControllerOfNoCopy(obj)
		if ref == nil {
			break
		}
		parent := &unstructured.Unstructured{}
		parent.SetAPIVersion(ref.APIVersion)
		parent.SetKind(ref.Kind)
		if err := c.Get(ctx, client.ObjectKey{Namespace: obj.GetNamespace(), Name: ref.Name}, parent); err != nil {
			return nil, manifests.Owner{}, err
		}
		obj = parent
		r.Through = append(r.Through, identity(obj).String())
	}
	return nil, manifests.Owner{}, exit.Refuse("%s is not a dependent of a component, and no dependent owns it", r.Object)
}

// ownerOf reads the owner of a dependent from its annotation and its label. It requires both, because controllers copy
// labels to objects that they create. A copy of a dependent has no owner, although it has both.
func ownerOf(obj *unstructured.Unstructured) (manifests.Owner, bool) {
	self := manifests.Key{Kind: obj.GetKind(), Namespace: obj.GetNamespace(), Name: obj.GetName()}
	for key, text := range obj.GetAnnotations() {
		reconciler, isMark := strings.CutSuffix(key, "/"+manifests.AnnotationOwnerID)
		if !isMark {
			continue
		}
		owner, ok := manifests.ParseOwner(text)
		_, copied := marks.CopyOf(self, obj.GetAnnotations(), reconciler)
		if ok && !copied && owner.Reconciler == reconciler &&
			obj.GetLabels()[reconciler+"/"+manifests.LabelOwnerID] == owner.ID() {
			return owner, true
		}
	}
	return manifests.Owner{}, false
}
