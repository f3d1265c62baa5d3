package tree

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/logging"
	"github.com/fairlead-io/fairlead/pkg/component/internal/records"
)

// Inventory returns the record of the dependents of a component, from its status or from the Secrets that the status
// names. reader reads in the cluster of the component. If some entries cannot be parsed, the result contains all other
// entries, and the error joins the parse errors.
func Inventory(
	ctx context.Context, reader Reader, status *metav1alpha1.Status,
) ([]metav1alpha1.InventoryEntry, error) {
	if !status.HasInventoryRecord() {
		return metav1alpha1.ParseInventory(status.Inventory)
	}
	get := func(ctx context.Context, name types.NamespacedName) (*unstructured.Unstructured, error) {
		secret := &unstructured.Unstructured{}
		secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
		return secret, reader.Get(ctx, name, secret)
	}
	lines, err := records.ReadInventory(logging.Context(ctx), get, *status.InventoryRecord)
	if err != nil {
		return nil, fmt.Errorf("read the inventory from Secret %s/%s-0: %w",
			status.InventoryRecord.Namespace, status.InventoryRecord.Name, err)
	}
	return metav1alpha1.ParseInventory(lines)
}
