package components

import (
	"slices"
	"strings"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// InventoryRef identifies the record of dependents that a status holds as lines, or names as Secrets.
type InventoryRef struct {
	lines   []string
	secrets metav1alpha1.InventoryRecord
}

// RefOf returns the reference to the record of a status. It shares the lines with the status.
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

// Empty reports whether no dependents are recorded. A record in Secrets is never empty.
func (r InventoryRef) Empty() bool { return len(r.lines) == 0 && r.secrets.Name == "" }

// Secrets returns the Secrets that hold the record, and the zero value if the status holds it.
func (r InventoryRef) Secrets() metav1alpha1.InventoryRecord { return r.secrets }

// Names reports whether the Secret of a name is a part of the record.
func (r InventoryRef) Names(secret string) bool {
	return r.secrets.Name != "" && strings.HasPrefix(secret, r.secrets.Name+"-")
}

// ID distinguishes the record from the records before and after it. A record in Secrets has an id that is never used
// again. Two records in a status have the same id if they have the same lines.
func (r InventoryRef) ID() string {
	if r.secrets.Name != "" {
		return r.secrets.Name
	}
	return "status-" + InventoryDigest(r.lines)
}

// InventoryDigest returns the digest that guards the lines of an inventory, empty for an empty inventory.
func InventoryDigest(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	digest, err := manifests.Digest(lines)
	if err != nil {
		return ""
	}
	return digest
}
