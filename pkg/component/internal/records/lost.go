package records

import (
	"context"
	"errors"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

// Lost is the value of State.ID for a record that the status names, and that does not exist.
const Lost = "lost"

// reportLost reports the records that the status of their component names, and that do not exist because somebody
// deleted them. A batch only raises a suspicion, because a record may be newer than a list, or have lost its label. So
// the Secrets of the suspected record are read before it is reported.
func (c *Collector) reportLost(ctx context.Context, b batch, components map[string]Component) error {
	if len(b.deleted) == 0 && len(b.listed) == 0 {
		return nil
	}
	listed, deleted := byOwner(b.secrets), byOwner(b.deleted)
	var errs []error
	for id, component := range components {
		if component.IsDeleted {
			continue
		}
		inList := b.listed[""] || b.listed[c.Store.NamespaceOf(component.Owner)]
		for kind, record := range kept(component.Status) {
			isDeleted := slices.ContainsFunc(OfKind(deleted[id], kind), HasID(record))
			isMissing := inList && !c.Store.Marks.isComplete(OfKind(listed[id], kind), record)
			if !isDeleted && !isMissing {
				continue
			}
			found, err := c.Store.Find(ctx, component.Owner, kind, record)
			if err == nil && !c.Store.Marks.isComplete(found, record) {
				c.Components.Lost(component.Name, kind)
			}
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// kept returns the ids of the records that a status names and that a pass can write again. An inventory is not one of
// them, because the next pass that reads it rebuilds it from the owner labels.
func kept(status *metav1alpha1.Status) map[Kind]string {
	named := map[Kind]string{Phases: status.PhaseRecord, Rendering: Named(status.RenderedSet)}
	maps.DeleteFunc(named, func(_ Kind, id string) bool { return !isID(id) })
	return named
}

// isID reports whether a value is the id of a record. Some values of Status.PhaseRecord and of State.ID are none.
func isID(value string) bool {
	return value != "" && value != PhasesPending && value != PhasesUnknown && value != Lost
}

// byOwner returns the Secrets that are parts of records, by the owner ids in their names.
func byOwner(
	secrets map[types.NamespacedName]*metav1.PartialObjectMetadata,
) map[string][]metav1.PartialObjectMetadata {
	owners := map[string][]metav1.PartialObjectMetadata{}
	for _, secret := range secrets {
		if id := ownerIDOf(secret.Name); id != "" {
			owners[id] = append(owners[id], *secret)
		}
	}
	return owners
}
