package component

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// rebuildPhases finds out which record of phases counts, where the status does not say it.
func (r *Reconciler[T]) rebuildPhases(ctx context.Context, component T) error {
	found, err := r.listPhases(ctx, component)
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

// listPhases returns the Secrets of all records of a component.
func (r *Reconciler[T]) listPhases(ctx context.Context, component T) ([]unstructured.Unstructured, error) {
	owner, err := r.owner(ctx, component)
	if err != nil {
		return nil, err
	}
	secrets, _ := r.recordsOf(component)
	list, err := secrets.List(ctx, metav1.ListOptions{LabelSelector: r.name + "/" + labelPhases + "=" + owner.ID()})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// latestPhases returns the digest of the record that counts among those that are complete: the one that the status names, or else the one
// that was written last. It is empty where there is none.
func (r *Reconciler[T]) latestPhases(found []unstructured.Unstructured, named string) string {
	parts, written := map[string]int{}, map[string]string{}
	for i := range found {
		digest, annotations := recordedDigest(&found[i]), found[i].GetAnnotations()
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
func recordedDigest(secret *unstructured.Unstructured) string {
	words := strings.Split(secret.GetName(), "-")
	return words[max(0, len(words)-2)]
}

// dropPhases deletes the records of a component, but for the one to keep, if any.
func (r *Reconciler[T]) dropPhases(ctx context.Context, component T, keep string) error {
	if component.GetStatus().PhaseRecord == "" {
		return nil
	}
	found, err := r.listPhases(ctx, component)
	if err != nil {
		return phaseProblem("delete the record of", err)
	}
	secrets, _ := r.recordsOf(component)
	for i := range found {
		if keep != "" && recordedDigest(&found[i]) == keep {
			continue
		}
		if err := r.dropSecret(ctx, secrets, &found[i]); err != nil {
			return phaseProblem("delete the record of", err)
		}
	}
	return nil
}

// dropSecret deletes a Secret after it took our finalizer off.
func (r *Reconciler[T]) dropSecret(ctx context.Context, secrets dynamic.ResourceInterface, secret *unstructured.Unstructured) error {
	rest := slices.DeleteFunc(secret.GetFinalizers(), func(f string) bool { return f == r.Finalizer() })
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": secret.GetResourceVersion(), "finalizers": rest}})
	if err != nil {
		return err
	}
	freed, err := secrets.Patch(ctx, secret.GetName(), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: r.name})
	if err == nil && freed.GetDeletionTimestamp() == nil {
		err = secrets.Delete(ctx, secret.GetName(), metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(secret.GetUID()))})
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
