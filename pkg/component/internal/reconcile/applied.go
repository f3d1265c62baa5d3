package reconcile

import (
	"context"
	"errors"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/input"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/status"
	"github.com/fairlead-io/fairlead/pkg/internal/binding"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// admit returns an error if a rendered set exceeds the quota of the namespace, or if the component publishes an export
// that is not in the set or that is a value of a Secret. inventory is the recorded inventory.
func (p *Pass) admit(
	ctx context.Context, c *Component, desired []manifests.Object, inventory []metav1alpha1.InventoryEntry,
) error {
	if err := p.Quotas.Admit(ctx, c.Name(), desired, inventory); err != nil {
		return err
	}
	if err := binding.CheckPublished(c.Exports, desired); err != nil {
		return passerror.InvalidSpec(err)
	}
	return nil
}

// applied returns the status with the results of an apply: the inputs and the generation, if all dependents are
// applied, and the published exports. If the exports are too large, those of the status stay, and applied returns an
// error.
func applied(
	s metav1alpha1.Status, c *Component, in input.Inputs, o outcome.Outcome,
) (metav1alpha1.Status, error) {
	if o.Applied {
		s.AppliedDigest, s.AppliedGeneration = in.Digest, c.GetGeneration()
	}
	if o.Observing || o.Inventory == nil {
		return s, nil
	}
	published, err := status.Published(s.Exports, c.Exports, o.Exports)
	if err != nil {
		return s, passerror.InvalidSpec(err)
	}
	s.Exports = published
	return s, nil
}

// waitingForExports adds to the error of a component that waits for exports of other components that its dependents
// stay as they are, if some were applied. Other errors are returned unchanged.
func waitingForExports(err error, applied bool) error {
	failure, ok := errors.AsType[*passerror.Error](err)
	if !ok || failure.Reason != metav1alpha1.ReasonExportMissing || !applied {
		return err
	}
	hinted := *failure
	hinted.Message += "; the applied objects stay as they are"
	return &hinted
}
