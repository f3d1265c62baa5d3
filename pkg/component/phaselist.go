package component

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// rebuildPhases finds out which record of phases counts, where the status does not say it.
func (r *Reconciler[T]) rebuildPhases(ctx context.Context, component T) error {
	owner, err := r.owner(ctx, component)
	if err != nil {
		return err
	}
	found, err := r.listPhases(ctx, owner)
	if err != nil {
		return err
	}
	status := component.GetStatus()
	switch complete := r.latestPhases(found, status.PhaseRecord); {
	case complete != "":
		status.PhaseRecord = complete
	case len(found) > 0:
		status.PhaseRecord = phasePending
	}
	return nil
}

// listPhases returns what is known of the Secrets of all records of a component. It reads no content.
func (r *Reconciler[T]) listPhases(ctx context.Context, owner manifests.Owner) ([]metav1.PartialObjectMetadata, error) {
	secrets := r.local.metadata.Resource(secretResource).Namespace(r.recordNamespace(owner))
	list, err := secrets.List(ctx, metav1.ListOptions{LabelSelector: r.name + "/" + labelPhases + "=" + owner.ID()})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// latestPhases returns the digest of the record that counts among those that are complete: the one that the status names, or else the one
// that was written last. It is empty where there is none.
func (r *Reconciler[T]) latestPhases(found []metav1.PartialObjectMetadata, named string) string {
	parts, written := map[string]int{}, map[string]string{}
	for i := range found {
		digest, annotations := recordedDigest(found[i].Name), found[i].Annotations
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

// recordedDigest reads the name of a Secret; see phaseSecretName.
func recordedDigest(name string) string {
	words := strings.Split(name, "-")
	return words[max(0, len(words)-2)]
}

// dropPhases deletes the records of a component, but for the one to keep, if any.
func (r *Reconciler[T]) dropPhases(ctx context.Context, owner manifests.Owner, keep string) error {
	found, err := r.listPhases(ctx, owner)
	for i := range found {
		if keep != "" && recordedDigest(found[i].Name) == keep {
			continue
		}
		if err = r.dropSecret(ctx, &found[i]); err != nil {
			break
		}
	}
	if err != nil {
		return phaseProblem("delete the record of", err)
	}
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
