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

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

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
	annotationTime  = "phases-written"
	phaseDataKey    = "manifests.json.gz"
)

// timeFormat has texts in the order of their times, which that of an object, in full seconds, does not tell apart.
const timeFormat = "2006-01-02T15:04:05.000000000Z"

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

// secretResource is the resource of Secrets.
var secretResource = corev1.SchemeGroupVersion.WithResource("secrets")

// recordNamespace returns where the records of a component are. A cluster-scoped component has no namespace of its own, and those that its
// dependents are in may be dependents themselves.
func (r *Reconciler[T]) recordNamespace(owner manifests.Owner) string {
	if owner.Namespace == "" {
		return r.options.RecordNamespace
	}
	return owner.Namespace
}

func phaseSecretName(ownerID, digest string, part int) string {
	return fmt.Sprintf("phases-%s-%s-%d", ownerID, digest, part)
}

// writePhases writes a record. That it exists already is fine: a crash kept the status from naming it.
func (r *Reconciler[T]) writePhases(ctx context.Context, owner manifests.Owner, record phaseRecord) error {
	parts, err := encodePhases(r.unmarked(record.objects))
	if err != nil {
		return err
	}
	namespace := r.recordNamespace(owner)
	secrets := r.local.dynamic.Resource(secretResource).Namespace(namespace)
	now := r.clock.Now().UTC().Format(timeFormat)
	for i, part := range parts {
		secret := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Secret",
			"metadata": map[string]any{
				"namespace": namespace, "name": phaseSecretName(owner.ID(), record.digest, i),
				"labels": map[string]any{r.name + "/" + labelPhases: owner.ID()},
				"annotations": map[string]any{
					r.name + "/" + labelPhases:     owner.String(),
					r.name + "/" + annotationParts: strconv.Itoa(len(parts)),
					r.name + "/" + annotationTime:  now,
				},
				"finalizers": []any{r.Finalizer()},
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
func (r *Reconciler[T]) readPhases(ctx context.Context, owner manifests.Owner, digest string) ([]*unstructured.Unstructured, error) {
	namespace := r.recordNamespace(owner)
	secrets := r.local.dynamic.Resource(secretResource).Namespace(namespace)
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
