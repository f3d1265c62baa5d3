package records

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/bounded"
	"github.com/fairlead-io/fairlead/internal/budget"
)

// Kind is the kind of a record. The names of the Secrets of a record begin with its kind.
type Kind string

// The kinds of records.
const (
	// Phases are the manifests that are applied while the component is deleted.
	Phases Kind = "phases"
	// Rendering is a pinned rendering: a set of manifests that a second rendering of the same inputs would change.
	Rendering Kind = "rendered"
	// Inventory is an inventory that does not fit into the status.
	Inventory Kind = "inventory"
	// Externals are the states of dependents outside Kubernetes; see package externalstate. Their Secrets are changed,
	// and no status names them.
	Externals Kind = "externals"
)

// Values of Status.PhaseRecord that are not ids.
const (
	// PhasesPending means that there may be records of phases which the status does not name yet.
	PhasesPending = "pending"
	// PhasesUnknown means that the status was lost and rebuilt while Secrets could not be listed: it is not known
	// whether there are records of phases and pinned renderings.
	PhasesUnknown = "unknown"
)

// Keys of the proof of a record in the data of the Secret with the number zero; see Proof. Versions without proofs
// ignore them.
const (
	saltKey   = "salt"
	headerKey = "header"
)

// dataKey returns the key of a part of a record in the data of a Secret.
func (k Kind) dataKey() string {
	switch k {
	case Inventory:
		return "inventory.json.gz"
	case Externals:
		return IndexKey
	case Phases, Rendering:
	}
	return "manifests.json.gz"
}

const (
	// maxPart is the maximum number of bytes of a record in one Secret. The JSON of a Secret, with these bytes in base64
	// and with metadata, is then smaller than 512 KiB.
	maxPart = 360 << 10
	// maxRecord is the maximum uncompressed size of a record, in bytes. maxNodes is the maximum number of maps, lists,
	// values and keys, because a few bytes of each need a hundred bytes of memory. maxLines is the maximum number of
	// nodes of an inventory, because each line becomes an entry of several hundred bytes. maxParts is the maximum number
	// of Secrets. Whoever may write Secrets can replace a record, so the limits are checked before it is decoded. No
	// larger record is written.
	maxRecord = 64 << 20
	maxNodes  = 4_000_000
	maxLines  = 200_000
	maxParts  = maxRecord/maxPart + 2
)

// nameOfPart matches the names of the Secrets of records: kind, owner id, id of the record, and number. The names of
// Secrets of the kind Externals have no id of a record.
var nameOfPart = regexp.MustCompile(
	`^(?:(?:phases|rendered|inventory)-([0-9a-f]{40})-[^-]+|externals-([0-9a-f]{40}))-[0-9]+$`)

// IsName reports whether a Secret with this name may be a part of a record. No dependent may have such a name.
func IsName(secretName string) bool { return nameOfPart.MatchString(secretName) }

// isPartOf reports whether a Secret with this name is a part of a record of an owner. The label alone is no evidence,
// because anybody can copy it to another Secret.
func isPartOf(secretName, ownerID string) bool {
	id := ownerIDOf(secretName)
	return id != "" && id == ownerID
}

// ownerIDOf returns the owner id in the name of a Secret, or an empty string if it is not the name of a part of a
// record. Unlike labels and annotations, a name cannot be edited.
func ownerIDOf(secretName string) string {
	found := nameOfPart.FindStringSubmatch(secretName)
	if found == nil {
		return ""
	}
	return found[1] + found[2]
}

// Record describes a record, without the content of the record.
type Record struct {
	Kind Kind
	// ID distinguishes the records of a kind. It is part of the names of the Secrets.
	ID string
	// Note is text for people. It must not contain secret values.
	Note string
	// ValuesLost is set on a rendering that was made because the record of the applied rendering was lost: generated
	// values, such as passwords, differ from the applied values.
	ValuesLost bool
	// Origin describes the inputs of a rendering, nil for other kinds.
	Origin *Origin
	// Proof belongs to an id with a proof. It is empty for other ids.
	Proof Proof
	// Capabilities is the text of the capabilities that a rendering asked for; see lookup.Recall. It is empty for other
	// kinds.
	Capabilities string
	// After identifies the record that this record replaces: by components.InventoryRef.ID for an inventory, and by the id
	// of the record for a rendering. It is empty if a rendering replaces none, and for other kinds.
	After string
}

// Origin describes the inputs that a rendering was made from. It is stored with the record, so that a status that was
// lost can be restored.
type Origin struct {
	InputDigest                                string
	Revision                                   int64
	TargetCluster, TargetNamespace, TargetName string
}

// OriginOf returns the origin of a rendering of the current inputs of a status.
func OriginOf(status *metav1alpha1.Status) *Origin {
	return &Origin{
		status.InputDigest, status.Revision, status.TargetCluster, status.TargetNamespace, status.TargetName,
	}
}

// Restore enters the digest of the inputs and the other fields of the origin into a status that was lost.
func (o Origin) Restore(status *metav1alpha1.Status) {
	status.InputDigest, status.Revision = o.InputDigest, o.Revision
	status.TargetCluster, status.TargetNamespace, status.TargetName = o.TargetCluster, o.TargetNamespace, o.TargetName
}

func (o Origin) text() string {
	return strings.Join([]string{
		o.InputDigest, strconv.FormatInt(o.Revision, 10), o.TargetCluster, o.TargetNamespace, o.TargetName,
	}, "/")
}

// parseOrigin parses an annotation. It returns nil if the text is not an origin.
func parseOrigin(text string) *Origin {
	parts := strings.Split(text, "/")
	if len(parts) != 5 {
		return nil
	}
	revision, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil || revision <= 0 {
		return nil
	}
	return &Origin{parts[0], revision, parts[2], parts[3], parts[4]}
}

// LostError is the error for a record that does not exist or cannot be decoded. A retry does not help: the caller has
// to continue without the record.
type LostError struct{ Cause string }

// Error implements error.
func (e *LostError) Error() string { return e.Cause }

// IsLost reports whether err is a LostError.
func IsLost(err error) bool {
	_, ok := errors.AsType[*LostError](err)
	return ok
}

// NamePrefix returns the common part of the names of the Secrets of a record. Secret number N has the name PREFIX-N.
func NamePrefix(kind Kind, ownerID, id string) string {
	return fmt.Sprintf("%s-%s-%s", kind, ownerID, id)
}

func secretName(kind Kind, ownerID, id string, part int) string {
	return fmt.Sprintf("%s-%d", NamePrefix(kind, ownerID, id), part)
}

// IDOf returns the id of the record that a Secret is a part of.
func IDOf(secretName string) string {
	words := strings.Split(secretName, "-")
	return words[max(0, len(words)-2)]
}

// HasID returns a function that selects the Secrets of the record with an id.
func HasID(id string) func(metav1.PartialObjectMetadata) bool {
	return func(secret metav1.PartialObjectMetadata) bool { return IDOf(secret.Name) == id }
}

// kindOf returns the kind of the record that a Secret is a part of, or an empty string if the Secret is not part of a
// record.
func kindOf(secretName string) Kind {
	for _, kind := range []Kind{Phases, Rendering, Inventory, Externals} {
		if strings.HasPrefix(secretName, string(kind)+"-") {
			return kind
		}
	}
	return ""
}

// OfKind returns the Secrets that are parts of records of a kind.
func OfKind(secrets []metav1.PartialObjectMetadata, kind Kind) []metav1.PartialObjectMetadata {
	return slices.DeleteFunc(slices.Clone(secrets), func(secret metav1.PartialObjectMetadata) bool {
		return kindOf(secret.Name) != kind
	})
}

// Encode returns the content of a record as compressed JSON, in parts that fit into one Secret each.
func Encode(kind Kind, content any) (parts [][]byte, err error) {
	text, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	if _, err := kind.checkSize(text); err != nil {
		return nil, err
	}
	var buffer bytes.Buffer
	compressed := gzip.NewWriter(&buffer)
	if _, err := compressed.Write(text); err != nil {
		return nil, err
	}
	if err := compressed.Close(); err != nil {
		return nil, err
	}
	return slices.Collect(slices.Chunk(buffer.Bytes(), maxPart)), nil
}

// checkSize returns the number of nodes of the content of a record, or an error if the content exceeds a limit.
func (k Kind) checkSize(text []byte) (nodes int, err error) {
	if len(text) > maxRecord {
		return 0, fmt.Errorf("it has more than %d bytes", maxRecord)
	}
	limit := maxNodes
	if k == Inventory {
		limit = maxLines
	}
	return bounded.JSON(text, bounded.Limits{Nodes: limit})
}

// decode reads the concatenated parts of a record into content. It returns a LostError if they cannot be decoded.
// The error is not a LostError if the memory for the content is not available.
func decode(ctx context.Context, kind Kind, data []byte, content any) error {
	reader, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return &LostError{"the record is damaged: " + err.Error()}
	}
	text, err := budget.ReadAll(ctx, reader, maxRecord)
	if budget.Refused(err) {
		return err
	}
	nodes := 0
	if err == nil {
		nodes, err = kind.checkSize(text)
	}
	if err != nil {
		return &LostError{"the record is damaged: " + err.Error()}
	}
	if err := budget.Reserve(ctx, int64(len(text))+int64(nodes)*budget.NodeBytes); err != nil {
		return err
	}
	err = json.Unmarshal(text, content)
	// JSON null is a valid manifest for the decoder.
	bodies, ok := content.(*[]*unstructured.Unstructured)
	if err != nil || ok && slices.Contains(*bodies, nil) {
		return &LostError{"the record is damaged, or another version wrote it"}
	}
	return nil
}

// dataOf returns the part of a record that a Secret contains. It returns a LostError if the data is not valid base64.
func dataOf(secret *unstructured.Unstructured, kind Kind) ([]byte, error) {
	return valueOf(secret, kind.dataKey())
}

// valueOf returns a value in the data of a Secret, and an empty value if the Secret has none. It returns a LostError if
// the value is not valid base64.
func valueOf(secret *unstructured.Unstructured, key string) ([]byte, error) {
	text, _, _ := unstructured.NestedString(secret.Object, "data", key)
	value, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, &LostError{fmt.Sprintf("the record in Secret %s/%s is damaged", secret.GetNamespace(), secret.GetName())}
	}
	return value, nil
}

// proofOf returns the proof that the Secret with the number zero of a record contains. It returns an empty proof if the
// Secret contains none.
func proofOf(secret *unstructured.Unstructured) Proof {
	salt, _ := valueOf(secret, saltKey)
	header, _ := valueOf(secret, headerKey)
	return Proof{string(salt), string(header)}
}
