package records

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// IndexKey is the key of the index in the data of a Secret of the kind Externals. The index contains the digests of all
// other values, so the digest of the index in annotationDigest is a digest of the whole content.
const IndexKey = "_index"

// annotationLeft is the number of the externals in a Secret that are neither deleted nor released.
const annotationLeft = "externals-left"

// ExternalsName returns the name of a Secret of the kind Externals. Unlike other records, these Secrets have no id,
// because they are changed and not replaced.
func ExternalsName(ownerID string, number int) string {
	return fmt.Sprintf("%s-%s-%d", Externals, ownerID, number)
}

// NumberOf returns the number at the end of the name of a Secret, and -1 if it has none.
func NumberOf(secretName string) int {
	number, err := strconv.Atoi(secretName[strings.LastIndex(secretName, "-")+1:])
	if err != nil || number < 0 {
		return -1
	}
	return number
}

// ExternalsSecret describes a Secret of the kind Externals.
type ExternalsSecret struct {
	Number int
	Index  []byte
	// Left is the number of the externals that are neither deleted nor released. The Collector deletes the Secret of a
	// component that does not exist only if it is zero.
	Left int
	// Finalizers are the finalizers that the Secret has now. IsDeleted is set if the Secret is being deleted, so that no
	// finalizer can be added.
	Finalizers []string
	IsDeleted  bool
}

// Externals returns a Secret of the kind Externals that has the index, labels, annotations and finalizers. It has no
// other data.
func (s *Store) Externals(ctx context.Context, owner manifests.Owner, e ExternalsSecret) *unstructured.Unstructured {
	name, index := ExternalsName(owner.ID(), e.Number), base64.StdEncoding.EncodeToString(e.Index)
	finalizers := slices.Clone(e.Finalizers)
	if !e.IsDeleted {
		finalizers = slices.DeleteFunc(finalizers, func(f string) bool { return f == s.Marks.finalizer() })
		if s.withFinalizer(ctx, owner) {
			finalizers = append(finalizers, s.Marks.finalizer())
		}
	}
	secret := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret",
		"metadata": map[string]any{
			"namespace": s.NamespaceOf(owner),
			"name":      name,
			"labels":    s.Marks.labels(owner),
			"annotations": map[string]any{
				s.Marks.name(annotationOwner):   owner.String(),
				s.Marks.name(annotationWritten): s.Clock.Now().UTC().Format(timeFormat),
				s.Marks.name(annotationDigest):  digestOf(name, index),
				s.Marks.name(annotationLeft):    strconv.Itoa(e.Left),
			},
		},
		"data": map[string]any{IndexKey: index},
	}}
	secret.SetFinalizers(finalizers)
	return secret
}
