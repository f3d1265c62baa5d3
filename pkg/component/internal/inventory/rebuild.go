package inventory

import (
	"context"
	"errors"
	"fmt"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Parse returns the entries of the lines of an inventory. The error is a condition error if a newer version wrote the
// lines. Such an inventory must neither be used nor be rebuilt.
func Parse(lines []string) ([]metav1alpha1.InventoryEntry, error) {
	entries, err := metav1alpha1.ParseInventory(lines)
	if newer := newerRecord(err); newer != nil {
		return nil, newer
	}
	return entries, err
}

// Lines returns the lines of an inventory, and the number of bytes by which they will grow when all objects are
// written.
func Lines(entries []metav1alpha1.InventoryEntry) (lines []string, growth int) {
	lines = make([]string, 0, len(entries))
	for _, e := range entries {
		lines = append(lines, e.String())
		if e.UID == "" {
			growth += writtenSize
		}
	}
	return lines, growth
}

// Rebuilt is an inventory that was rebuilt from the owner labels of live objects.
type Rebuilt struct {
	Entries []metav1alpha1.InventoryEntry
	// Unsearched names the types and namespaces that could not be searched. Copies names the objects that do not count,
	// because other clients wrote them with the owner label. Both are empty if there are none.
	Unsearched, Copies string
}

// Rebuild searches for the dependents of an owner that has no status. recorded are the readable entries of its lost
// inventory. deleting is set if the dependents are to be deleted. If no type at all could be listed in the namespace of
// the dependents, Rebuild returns an error, unless they are to be deleted and the namespace is being deleted too,
// because the rights are deleted with the namespace.
func (r Recovery) Rebuild(
	ctx context.Context, owner manifests.Owner, recorded []metav1alpha1.InventoryEntry, deleting bool,
) (Rebuilt, error) {
	namespaces := knownNamespaces(recorded, append([]string{r.Namespace}, r.Namespaces...)...)
	report, err := r.Searcher.Search(ctx, owner, r.DeletePolicy, namespaces)
	if err != nil {
		return Rebuilt{}, fmt.Errorf("search for the dependents by their owner labels: %w", err)
	}
	listed := report
	if r.AsOperator {
		listed = report.without(owner.Component().GroupKind())
	}
	goes := func() bool { return r.Namespace != "" && r.NamespaceGoes(ctx, r.Namespace) }
	if !listed.listedAny(r.Namespace) && (!deleting || !goes()) {
		return Rebuilt{}, fmt.Errorf("the dependents cannot be searched by their owner labels, because no type may be "+
			"listed; allow the engine to list the types of the dependents: %v", listed.refusal(r.Namespace))
	}
	found := join(recorded, report.entries(), report, false)
	return Rebuilt{
		Entries: found.entries, Unsearched: report.unsearched(), Copies: describeEntries(found.copies),
	}, nil
}

// newerRecord returns a condition error if err means that a newer version wrote the inventory, and nil for any other
// error. This version must not use such an inventory. It must not recover the inventory either, because the recovered
// inventory would replace the newer inventory.
func newerRecord(err error) error {
	unknown, ok := errors.AsType[*metav1alpha1.UnknownFieldError](err)
	if !ok {
		return nil
	}
	return &passerror.Error{
		Reason: metav1alpha1.ReasonNewerRecord, Terminal: true,
		Message: fmt.Sprintf("nothing is changed, because a newer version of the operator wrote the record of the "+
			"dependents: %v; run that version or a later version", unknown),
	}
}
