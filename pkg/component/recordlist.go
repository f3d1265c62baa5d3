package component

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/apitext"
	"github.com/fairlead-io/fairlead/pkg/component/internal/condition"
	"github.com/fairlead-io/fairlead/pkg/component/internal/rights"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// findPhases finds out what counts where the status does not say it. That it cannot is no reason to go without, unless nobody is ever going to.
func (r *Reconciler[T]) findPhases(ctx context.Context, component T, pass Pass) error {
	status := component.GetStatus()
	unknown := status.PhaseRecord == phaseUnknown
	if status.PhaseRecord != phasePending && !unknown || unknown && len(pass.Inventory) == 0 && status.AppliedDigest == "" {
		return nil
	}
	found, err := r.listSecrets(ctx, pass.Owner)
	if r.outOfReach(ctx, pass.Owner, err) {
		return nil
	}
	if err != nil {
		return orLetGo(phaseProblem("find", err))
	}
	r.enterPhases(status, found)
	if unknown {
		r.enterKept(status, found)
	}
	return nil
}

// enterPhases enters which record of phases counts, where the status does not say it.
func (r *Reconciler[T]) enterPhases(status *metav1alpha1.Status, secrets []metav1.PartialObjectMetadata) {
	found := ofKind(secrets, recordOfPhases)
	switch complete := r.latestRecord(found, status.PhaseRecord); {
	case complete != "":
		status.PhaseRecord = complete
	case len(found) > 0:
		status.PhaseRecord = phasePending
	case status.PhaseRecord == phaseUnknown:
		status.PhaseRecord = ""
	}
}

// recordProblem says why records cannot be written, read or found.
func recordProblem(what string, err error) error {
	p := &condition.Error{Reason: metav1alpha1.ReasonRetrying, Message: fmt.Sprintf("%s: %v", what, err)}
	if apitext.MissingRight(err) {
		p.Reason, p.Terminal = metav1alpha1.ReasonForbidden, true
		p.Message += "; " + rights.Grant
	}
	return p
}

// listRecords returns what is known of the Secrets of all records of a component that are of a kind. It reads no content.
func (r *Reconciler[T]) listRecords(ctx context.Context, owner manifests.Owner, kind recordKind) ([]metav1.PartialObjectMetadata, error) {
	found, err := r.listSecrets(ctx, owner)
	return ofKind(found, kind), err
}

// ofKind returns those Secrets that hold records of a kind.
func ofKind(secrets []metav1.PartialObjectMetadata, kind recordKind) []metav1.PartialObjectMetadata {
	return slices.DeleteFunc(slices.Clone(secrets), func(secret metav1.PartialObjectMetadata) bool {
		return !strings.HasPrefix(secret.Name, string(kind)+"-")
	})
}

// listSecrets returns what is known of the Secrets of all records of a component. It reads no content.
func (r *Reconciler[T]) listSecrets(ctx context.Context, owner manifests.Owner) ([]metav1.PartialObjectMetadata, error) {
	secrets := r.local.metadata.Resource(secretResource).Namespace(r.recordNamespace(owner))
	list, err := secrets.List(ctx, metav1.ListOptions{LabelSelector: r.name + "/" + labelRecord + "=" + owner.ID()})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// latestRecord returns the id of the record that counts among those that are complete: the one that the status names, or else the one
// that was written last. It is empty where there is none.
func (r *Reconciler[T]) latestRecord(found []metav1.PartialObjectMetadata, named string) string {
	parts, written := map[string]int{}, map[string]string{}
	for i := range found {
		digest, annotations := recordedID(found[i].Name), found[i].Annotations
		parts[digest]++
		if strconv.Itoa(parts[digest]) == annotations[r.name+"/"+annotationParts] {
			written[digest] = annotations[r.name+"/"+annotationTime]
		}
	}
	if _, ok := written[named]; ok {
		return named
	}
	latest := ""
	for _, digest := range slices.Sorted(maps.Keys(written)) {
		if latest == "" || written[digest] > written[latest] {
			latest = digest
		}
	}
	return latest
}

// recordedID reads the name of a Secret; see recordName.
func recordedID(name string) string {
	words := strings.Split(name, "-")
	return words[max(0, len(words)-2)]
}

// isPartOf picks the Secrets of the record with an id.
func isPartOf(id string) func(metav1.PartialObjectMetadata) bool {
	return func(secret metav1.PartialObjectMetadata) bool { return recordedID(secret.Name) == id }
}

// dropRecords deletes the records of a component that are of a kind, but for the one to keep, if any. Those that are out of reach are left to
// their namespace.
func (r *Reconciler[T]) dropRecords(ctx context.Context, owner manifests.Owner, kind recordKind, keep string) error {
	err := r.dropFound(ctx, owner, kind, keep)
	if r.outOfReach(ctx, owner, err) {
		log.FromContext(ctx).Info("leaves records to their namespace, which is being deleted; where it waits for them, take the finalizer off yourself",
			"namespace", r.recordNamespace(owner), "records", kind, "finalizer", r.Finalizer(), "cause", err.Error())
		return nil
	}
	return err
}

// dropFound deletes the records that there are.
func (r *Reconciler[T]) dropFound(ctx context.Context, owner manifests.Owner, kind recordKind, keep string) error {
	found, err := r.listRecords(ctx, owner, kind)
	if err != nil {
		return err
	}
	for i := range found {
		if keep != "" && recordedID(found[i].Name) == keep {
			continue
		}
		if err := r.dropSecret(ctx, &found[i]); err != nil {
			return err
		}
	}
	return nil
}

// noteStrays notes that a component may have records of a kind that its status does not name.
func (r *Reconciler[T]) noteStrays(name types.NamespacedName, kind recordKind) {
	r.strays.change(name, func(noted map[recordKind]bool) (map[recordKind]bool, bool) {
		more := without(noted, kind)
		more[kind] = true
		return more, true
	})
}

// noteUnlisted notes that a component may have records that its status does not name, and that nobody could look for.
func (r *Reconciler[T]) noteUnlisted(name types.NamespacedName) {
	r.strays.change(name, func(noted map[recordKind]bool) (map[recordKind]bool, bool) {
		more := map[recordKind]bool{recordOfPhases: false, recordOfRendering: false}
		maps.Copy(more, noted)
		return more, true
	})
}

// dropStrays drops the records of a kind that the status does not name, where there may be some. Those that may not be listed hold nothing up
// unless they are known to be there; they are looked for again.
func (r *Reconciler[T]) dropStrays(ctx context.Context, name types.NamespacedName, owner manifests.Owner, kind recordKind, named string) error {
	seen, noted := r.strays.of(name)[kind]
	if !noted {
		return nil
	}
	if !seen {
		if _, err := r.listRecords(ctx, owner, kind); apierrors.IsForbidden(err) {
			return nil
		}
	}
	if err := r.dropRecords(ctx, owner, kind, named); err != nil {
		return err
	}
	r.strays.change(name, func(noted map[recordKind]bool) (map[recordKind]bool, bool) {
		rest := without(noted, kind)
		return rest, len(rest) > 0
	})
	return nil
}

// dropSecret deletes a Secret after it took our finalizer off.
func (r *Reconciler[T]) dropSecret(ctx context.Context, secret *metav1.PartialObjectMetadata) error {
	patch, err := finalizerPatch(secret, r.Finalizer(), false, nil)
	if err != nil {
		return err
	}
	secrets := r.local.metadata.Resource(secretResource).Namespace(secret.Namespace)
	freed, err := secrets.Patch(ctx, secret.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: r.name})
	if err == nil && freed.DeletionTimestamp == nil {
		err = secrets.Delete(ctx, secret.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(secret.UID))})
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
