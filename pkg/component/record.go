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

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Manifests that must outlive the process are recorded in Secrets, for they may hold passwords: one, or more where they take much. The Secrets
// are held by our finalizer, so that they outlive their namespace, unless our right to let go of them does not (lasting.go), and are no
// dependents: no owner label, and not in the inventory.

// recordKind says what is recorded; the names of the Secrets begin with it.
type recordKind string

const (
	// recordOfPhases holds what is applied when the component is deleted.
	recordOfPhases recordKind = "phases"
	// recordOfRendering holds a set that would be rendered with other values a second time.
	recordOfRendering recordKind = "rendered"
	// recordOfInventory holds an inventory that takes too much for the status.
	recordOfInventory recordKind = "inventory"
)

// dataKey is where a Secret has its part of a record.
func (k recordKind) dataKey() string {
	if k == recordOfInventory {
		return "inventory.json.gz"
	}
	return "manifests.json.gz"
}

// maxObject bounds what we write as one object, as JSON.
const maxObject = 512 << 10

// maxPart bounds the bytes of a record in one Secret: in base64, and with what a Secret has besides, it stays below maxObject.
const maxPart = 360 << 10

// maxRecord bounds what a record may grow to when it is read.
const maxRecord = 64 << 20

const (
	labelRecord          = "record-of"
	annotationParts      = "record-parts"
	annotationTime       = "record-written"
	annotationRecordNote = "record-note"
	annotationOrigin     = "record-origin"
	annotationAnew       = "record-anew"
	annotationAfter      = "record-after"
)

// timeFormat has texts in the order of their times, which that of an object, in full seconds, does not tell apart.
const timeFormat = "2006-01-02T15:04:05.000000000Z"

// record is what is recorded.
type record struct {
	kind recordKind
	// id tells the records of a kind apart, and is part of a name.
	id     string
	bodies []*unstructured.Unstructured
	// note is for a reader, who must not learn secrets from it.
	note string
	// anew is what it is in a draft.
	anew bool
	// origin is what the status says of the inputs that the bodies were rendered from, where that matters.
	origin *metav1alpha1.Status
	// after is the record that this one is to replace, where that matters.
	after string
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

func recordName(kind recordKind, ownerID, id string, part int) string {
	return fmt.Sprintf("%s-%d", recordPrefix(kind, ownerID, id), part)
}

// recordPrefix is what the names of all Secrets of a record begin with.
func recordPrefix(kind recordKind, ownerID, id string) string {
	return fmt.Sprintf("%s-%s-%s", kind, ownerID, id)
}

// writeRecord writes a record. That it exists already is fine: a crash kept the status from naming it.
func (r *Reconciler[T]) writeRecord(ctx context.Context, owner manifests.Owner, rec record) error {
	parts, err := encodeRecord(rec.bodies)
	if err != nil {
		return err
	}
	return r.writeParts(ctx, owner, rec, parts)
}

// writeParts writes the Secrets of a record.
func (r *Reconciler[T]) writeParts(ctx context.Context, owner manifests.Owner, rec record, parts [][]byte) error {
	if err := r.certain(ctx, types.NamespacedName{Namespace: owner.Namespace, Name: owner.Name}); err != nil {
		return err
	}
	secrets := r.local.dynamic.Resource(secretResource).Namespace(r.recordNamespace(owner))
	annotations := r.recordAnnotations(owner, rec, len(parts), r.clock.Now().UTC().Format(timeFormat))
	held := r.rightsLast(ctx, owner)
	for i, part := range parts {
		secret := r.partSecret(owner, rec, i, annotations, part)
		if held {
			secret.SetFinalizers([]string{r.Finalizer()})
		}
		if _, err := secrets.Apply(ctx, secret.GetName(), secret, metav1.ApplyOptions{FieldManager: r.name, Force: true}); err != nil {
			return err
		}
	}
	return nil
}

// partSecret returns the Secret of a part of a record.
func (r *Reconciler[T]) partSecret(owner manifests.Owner, rec record, number int, annotations map[string]any, part []byte) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret",
		"metadata": map[string]any{
			"namespace": r.recordNamespace(owner), "name": recordName(rec.kind, owner.ID(), rec.id, number),
			"labels":      map[string]any{r.name + "/" + labelRecord: owner.ID(), r.name + "/" + labelHeld: "true"},
			"annotations": annotations,
		},
		"data": map[string]any{rec.kind.dataKey(): base64.StdEncoding.EncodeToString(part)},
	}}
}

func (r *Reconciler[T]) recordAnnotations(owner manifests.Owner, rec record, parts int, written string) map[string]any {
	annotations := map[string]any{
		r.name + "/" + labelRecord:     owner.String(),
		r.name + "/" + annotationParts: strconv.Itoa(parts),
		r.name + "/" + annotationTime:  written,
	}
	if rec.note != "" {
		annotations[r.name+"/"+annotationRecordNote] = rec.note
	}
	if rec.after != "" {
		annotations[r.name+"/"+annotationAfter] = rec.after
	}
	if rec.anew {
		annotations[r.name+"/"+annotationAnew] = "true"
	}
	if o := rec.origin; o != nil {
		annotations[r.name+"/"+annotationOrigin] = strings.Join([]string{
			o.InputDigest, strconv.FormatInt(o.Revision, 10), o.TargetCluster, o.TargetNamespace, o.TargetName,
		}, "/")
	}
	return annotations
}

// recallOrigin enters into a status what a record says of its inputs.
func (r *Reconciler[T]) recallOrigin(status *metav1alpha1.Status, secret metav1.Object) {
	parts := strings.Split(secret.GetAnnotations()[r.name+"/"+annotationOrigin], "/")
	if len(parts) != 5 {
		return
	}
	revision, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil || revision <= 0 {
		return
	}
	status.InputDigest, status.Revision = parts[0], revision
	status.TargetCluster, status.TargetNamespace, status.TargetName = parts[2], parts[3], parts[4]
}

// encodeRecord returns manifests, or the lines of an inventory, compressed, in parts that fit into Secrets.
func encodeRecord(content any) ([][]byte, error) {
	var buffer bytes.Buffer
	compressed := gzip.NewWriter(&buffer)
	if err := json.NewEncoder(compressed).Encode(content); err != nil {
		return nil, err
	}
	if err := compressed.Close(); err != nil {
		return nil, err
	}
	return slices.Collect(slices.Chunk(buffer.Bytes(), maxPart)), nil
}

// decodeRecord reads what encodeRecord wrote; what cannot be read is lost.
func decodeRecord(data []byte, content any) error {
	reader, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return &lostError{"the record is damaged: " + err.Error()}
	}
	text, err := io.ReadAll(io.LimitReader(reader, maxRecord))
	if err != nil {
		return &lostError{"the record is damaged: " + err.Error()}
	}
	if err := json.Unmarshal(text, content); err != nil {
		return &lostError{"the record is damaged, or was written by another version"}
	}
	return nil
}

// partOf reads the part of a record that a Secret has; what cannot be read is lost.
func partOf(secret *unstructured.Unstructured, kind recordKind) ([]byte, error) {
	text, _, _ := unstructured.NestedString(secret.Object, "data", kind.dataKey())
	part, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, &lostError{fmt.Sprintf("the record in Secret %s/%s is damaged", secret.GetNamespace(), secret.GetName())}
	}
	return part, nil
}

// readRecord reads the record of a kind and an id.
func (r *Reconciler[T]) readRecord(ctx context.Context, owner manifests.Owner, kind recordKind, id string) (record, error) {
	namespace := r.recordNamespace(owner)
	secrets := r.local.dynamic.Resource(secretResource).Namespace(namespace)
	found := record{kind: kind, id: id, origin: &metav1alpha1.Status{}}
	var data []byte
	for i, parts := 0, 1; i < parts; i++ {
		name := recordName(kind, owner.ID(), id, i)
		secret, err := secrets.Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return record{}, &lostError{fmt.Sprintf("the record in Secret %s/%s does not exist any more", namespace, name)}
		}
		if err != nil {
			return record{}, err
		}
		parts, _ = strconv.Atoi(secret.GetAnnotations()[r.name+"/"+annotationParts])
		found.note = secret.GetAnnotations()[r.name+"/"+annotationRecordNote]
		found.anew = secret.GetAnnotations()[r.name+"/"+annotationAnew] != ""
		r.recallOrigin(found.origin, secret)
		part, err := partOf(secret, kind)
		if err != nil {
			return record{}, err
		}
		data = append(data, part...)
	}
	return found, decodeRecord(data, &found.bodies)
}
