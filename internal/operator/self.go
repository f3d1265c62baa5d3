package operator

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
)

// refuseOwnEnd refuses to delete the component that holds the Deployment this program runs in: nobody would be left to finish that, and to
// delete what other components hold. Another operator, which runs elsewhere, may do it.
func refuseOwnEnd(reader component.TreeReader, own types.NamespacedName) component.Hook[*v1alpha1.Component] {
	return func(ctx context.Context, c *v1alpha1.Component, _ component.DependentReader) error {
		if c.DeletionTimestamp.IsZero() || c.Status.TargetCluster != "" {
			return nil
		}
		// What cannot be read of the inventory ends the deletion itself.
		entries, _ := component.Inventory(ctx, reader, &c.Status)
		for _, e := range entries {
			if e.Group == "apps" && e.Kind == "Deployment" && e.Namespace == own.Namespace && e.Name == own.Name && goes(e.DeletePolicy) {
				return component.RefuseDeletion(fmt.Errorf("it holds Deployment %s, in which the operator itself runs, and nobody would finish the deletion; "+
					"delete all other components, then scale the Deployment to 0, and run fairlead-operator elsewhere with an administrator's kubeconfig: "+
					"that one deletes it", own))
			}
		}
		return nil
	}
}

// goes says that a dependent is deleted with its component, and not released.
func goes(policy metav1alpha1.DeletePolicy) bool {
	return policy != metav1alpha1.DeleteOrphan && policy != metav1alpha1.DeleteOrphanOnDelete
}
