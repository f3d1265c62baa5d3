package component

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// What is applied when a component is deleted is recorded in Secrets, for it may hold passwords: one, or more where it takes much. They are
// held by our finalizer, so that they outlive their namespace, and are no dependents: no owner label, and not in the inventory.

// maxPart bounds the bytes of a record in one Secret, whose limit is 1 MiB.
const maxPart = 512 << 10

// maxRecord bounds what a record may grow to when it is read.
const maxRecord = 64 << 20

const (
	labelPhases     = "phases-of"
	annotationParts = "phases-parts"
	phaseDataKey    = "manifests.json.gz"
)

// phaseRecord is what is recorded.
type phaseRecord struct {
	digest  string
	objects []manifests.Object
}

// lostError says that a record does not exist any more, or cannot be read.
type lostError struct{ cause string }

func (e *lostError) Error() string { return e.cause }

func isLost(err error) bool {
	var lost *lostError
	return errors.As(err, &lost)
}

// recordsOf returns where the records of a component are. A cluster-scoped component has no namespace of its own, and those that its
// dependents are in may be dependents themselves.
func (r *Reconciler[T]) recordsOf(component T) (dynamic.ResourceInterface, string) {
	namespace := component.GetNamespace()
	if namespace == "" {
		namespace = r.options.RecordNamespace
	}
	return r.local.dynamic.Resource(corev1.SchemeGroupVersion.WithResource("secrets")).Namespace(namespace), namespace
}

func phaseSecretName(ownerID, digest string, part int) string {
	return fmt.Sprintf("phases-%s-%s-%d", ownerID, digest, part)
}

// writePhases writes a record. That it exists already is fine: a crash kept the status from naming it.
func (r *Reconciler[T]) writePhases(ctx context.Context, component T, owner manifests.Owner, record phaseRecord) error {
	parts, err := encodePhases(r.unmarked(record.objects))
	if err != nil {
		return err
	}
	secrets, namespace := r.recordsOf(component)
	for i, part := range parts {
		secret := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Secret",
			"metadata": map[string]any{
				"namespace": namespace, "name": phaseSecretName(owner.ID(), record.digest, i),
				"labels":      map[string]any{r.name + "/" + labelPhases: owner.ID()},
				"annotations": map[string]any{r.name + "/" + labelPhases: owner.String(), r.name + "/" + annotationParts: strconv.Itoa(len(parts))},
				"finalizers":  []any{r.Finalizer()},
			},
			"data": map[string]any{phaseDataKey: base64.StdEncoding.EncodeToString(part)},
		}}
		if _, err := secrets.Apply(ctx, secret.GetName(), secret, metav1.ApplyOptions{FieldManager: r.name, Force: true}); err != nil {
			return err
		}
	}
	return nil
}

// encodePhases returns manifests compressed, in parts that fit into Secrets.
func encodePhases(bodies []*unstructured.Unstructured) ([][]byte, error) {
	var buffer bytes.Buffer
	compressed := gzip.NewWriter(&buffer)
	if err := json.NewEncoder(compressed).Encode(bodies); err != nil {
		return nil, err
	}
	if err := compressed.Close(); err != nil {
		return nil, err
	}
	return slices.Collect(slices.Chunk(buffer.Bytes(), maxPart)), nil
}

// decodePhases reads what encodePhases wrote; what cannot be read is lost.
func decodePhases(data []byte) ([]*unstructured.Unstructured, error) {
	reader, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, &lostError{"the record is damaged: " + err.Error()}
	}
	text, err := io.ReadAll(io.LimitReader(reader, maxRecord))
	if err != nil {
		return nil, &lostError{"the record is damaged: " + err.Error()}
	}
	var bodies []*unstructured.Unstructured
	if err := json.Unmarshal(text, &bodies); err != nil {
		return nil, &lostError{"the record is damaged, or was written by another version"}
	}
	return bodies, nil
}

// readPhases reads a record.
func (r *Reconciler[T]) readPhases(ctx context.Context, component T, digest string) ([]*unstructured.Unstructured, error) {
	owner, err := r.owner(ctx, component)
	if err != nil {
		return nil, err
	}
	secrets, namespace := r.recordsOf(component)
	var data []byte
	for i, parts := 0, 1; i < parts; i++ {
		name := phaseSecretName(owner.ID(), digest, i)
		secret, err := secrets.Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil, &lostError{fmt.Sprintf("the record in Secret %s/%s does not exist any more", namespace, name)}
		}
		if err != nil {
			return nil, err
		}
		parts, _ = strconv.Atoi(secret.GetAnnotations()[r.name+"/"+annotationParts])
		text, _, _ := unstructured.NestedString(secret.Object, "data", phaseDataKey)
		part, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return nil, &lostError{fmt.Sprintf("the record in Secret %s/%s is damaged", namespace, name)}
		}
		data = append(data, part...)
	}
	return decodePhases(data)
}

// listPhases returns the Secrets of all records of a component, the newest first.
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
	slices.SortStableFunc(list.Items, func(a, b unstructured.Unstructured) int {
		return b.GetCreationTimestamp().Compare(a.GetCreationTimestamp().Time)
	})
	return list.Items, nil
}

// findPhases returns the digest of the newest record that is complete; it is empty where there is none.
func (r *Reconciler[T]) findPhases(ctx context.Context, component T) (string, error) {
	found, err := r.listPhases(ctx, component)
	if err != nil {
		return "", err
	}
	parts := map[string]int{}
	for i := range found {
		words := strings.Split(found[i].GetName(), "-")
		digest := words[max(0, len(words)-2)]
		parts[digest]++
		if strconv.Itoa(parts[digest]) == found[i].GetAnnotations()[r.name+"/"+annotationParts] {
			return digest, nil
		}
	}
	return "", nil
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
		if keep != "" && strings.Contains(found[i].GetName(), "-"+keep+"-") {
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
