package components

import (
	"slices"
	"strings"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/digests"
)

// InventoryRef identifies the inventory record of a status: the lines in the status, or the Secrets that the status
// names.
type InventoryRef struct {
	lines   []string
	secrets metav1alpha1.InventoryRecord
}

// RefOf returns the reference to the inventory record of a status. The reference shares the lines with the status.
func RefOf(status *metav1alpha1.Status) InventoryRef {
	ref := InventoryRef{lines: status.Inventory}
	if status.HasInventoryRecord() {
		ref.secrets = *status.InventoryRecord
	}
	return ref
}

// Equal reports whether both references identify the same record.
func (r InventoryRef) Equal(other InventoryRef) bool {
	return r.secrets == other.secrets && slices.Equal(r.lines, other.lines)
}

// Empty reports whether a status names no dependents. A record in Secrets is never empty.
func (r InventoryRef) Empty() bool { return len(r.lines) == 0 && r.secrets.Name == "" }

// Secrets returns the Secrets that contain the record, or the zero value if the lines are in the status.
func (r InventoryRef) Secrets() metav1alpha1.InventoryRecord { return r.secrets }

// Names reports whether the Secret with the given name is a part of the record.
func (r InventoryRef) Names(secret string) bool {
	return r.secrets.Name != "" && strings.HasPrefix(secret, r.secrets.Name+"-")
}

// ID distinguishes the record from previous and later records of the same component. A record in Secrets has an id that
// is never used again. Two records in a status have the same id if they have the same lines.
func (r InventoryRef) ID() string {
	if r.secrets.Name != "" {
		return r.secrets.Name
	}
	return "status-" + InventoryDigest(r.lines)
}

// InventoryDigest returns the checksum of the lines of an inventory, or an empty string for an empty inventory.
func InventoryDigest(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	digest, err := digests.Of(lines)
	if err != nil {
		return ""
	}
	return digest
}
