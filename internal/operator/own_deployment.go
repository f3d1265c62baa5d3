package operator

import (
	"cmp"
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/digests"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/component/tree"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// self is the Deployment in which this program runs. The checks of this type prevent the program from deleting this
// Deployment, because the program would end before the deletion is complete. An operator that runs outside of the
// Deployment may delete it.
type self struct {
	reader     tree.Reader
	deployment types.NamespacedName
}

// elsewhere is the part of error messages that explains how to delete the component of this Deployment.
const elsewhere = "scale the Deployment to 0, and run fairlead-operator elsewhere with an administrator's " +
	"kubeconfig to delete this component"

// refuseEnd is a hook that refuses the deletion of the component that has the Deployment as a dependent. It is called
// as PostRead, before a lost inventory is rebuilt. The hook PreDelete would be called only after the rebuild, so that
// the deletion of every other component would have to wait for its rebuild.
func (s self) refuseEnd(ctx context.Context, c *v1alpha1.Component, _ component.DependentReader) error {
	if c.DeletionTimestamp.IsZero() {
		return nil
	}
	lost := isLost(&c.Status) || component.RecordDoubt(&c.Status) != ""
	goes, err := s.goesWith(ctx, c, lost, metav1alpha1.DeleteOrphanOnDelete)
	if err != nil || !goes {
		return err
	}
	return component.RefuseDeletion(fmt.Errorf(
		"it has the dependent Deployment %s, in which the operator itself runs, so no operator would finish the deletion; "+
			"to keep it, remove the finalizer %s/finalizer from this component, and its dependents stay; to uninstall "+
			"everything, delete all other components first, with their dependents, then %s",
		s.deployment, ReconcilerName, elsewhere))
}

// goesWith reports whether the Deployment is a dependent of a component and would be deleted together with the
// component. It would not be deleted if its delete policy is orphan or equals releases. If the status does not list all
// dependents, because the inventory was lost, is in Secrets, or must not be believed, goesWith reads the annotations of
// the Deployment instead. It never reads the Secrets with inventories.
func (s self) goesWith(
	ctx context.Context, c *v1alpha1.Component, lost bool, releases metav1alpha1.DeletePolicy,
) (bool, error) {
	if c.Status.TargetCluster != "" {
		return false, nil
	}
	goes := func(policy metav1alpha1.DeletePolicy) bool {
		return policy != metav1alpha1.DeleteOrphan && policy != releases
	}
	entries, unread := metav1alpha1.ParseInventory(c.Status.Inventory)
	for _, e := range entries {
		if !lost && s.key() == (manifests.Key{Group: e.Group, Kind: e.Kind, Namespace: e.Namespace, Name: e.Name}) {
			return goes(e.DeletePolicy), nil
		}
	}
	if unread == nil && !lost && !c.Status.HasInventoryRecord() {
		return false, nil
	}
	held, annotations, err := s.heldBy(ctx, c)
	if err != nil {
		return false, err
	}
	policy := metav1alpha1.DeletePolicy(annotations[ReconcilerName+"/"+manifests.AnnotationDeletePolicy])
	return held && goes(cmp.Or(policy, c.Spec.Policies().Delete)), nil
}

// isLost reports whether the inventory in a status was lost or edited.
func isLost(status *metav1alpha1.Status) bool {
	if status.Reconciler == "" || len(status.Inventory) == 0 {
		return status.Reconciler == "" || status.InventoryDigest != ""
	}
	digest, err := digests.Of(status.Inventory)
	return err != nil || digest != status.InventoryDigest
}

// heldBy reads the Deployment. It returns whether the Deployment is a dependent of the component, according to its
// owner annotation. It also returns all annotations of the Deployment.
func (s self) heldBy(ctx context.Context, c *v1alpha1.Component) (bool, map[string]string, error) {
	live := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{
		APIVersion: appsv1.SchemeGroupVersion.String(),
		Kind:       "Deployment",
	}}
	err := s.reader.Get(ctx, s.deployment, live)
	if apierrors.IsNotFound(err) {
		return false, nil, nil
	}
	if err != nil {
		return false, nil,
			fmt.Errorf("it is unknown whether Deployment %s, in which the operator itself runs, is a dependent: %w",
				s.deployment, err)
	}
	owner, ok := manifests.ParseOwner(live.Annotations[ReconcilerName+"/"+manifests.AnnotationOwnerID])
	held := ok && owner.Reconciler == ReconcilerName && owner.Namespace == c.Namespace && owner.Name == c.Name
	return held, live.Annotations, nil
}

func (s self) key() manifests.Key {
	return manifests.Key{
		Group: appsv1.GroupName, Kind: "Deployment", Namespace: s.deployment.Namespace,
		Name: s.deployment.Name,
	}
}
