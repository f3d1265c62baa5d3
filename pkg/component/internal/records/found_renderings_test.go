package records

import (
	"slices"
	"strconv"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestTheOrderOfFoundRenderings(t *testing.T) {
	_, s := newCluster(t)
	// secret returns a part of a rendering. The second of its creation and that in its annotations are given.
	secret := func(
		id string, number, parts int, inputs string, applied bool, created, written int,
	) metav1.PartialObjectMetadata {
		m := metav1.PartialObjectMetadata{}
		m.Name = secretName(Rendering, owner("app").ID(), id, number)
		m.CreationTimestamp = metav1.NewTime(start.Add(time.Duration(created) * time.Second))
		m.Annotations = map[string]string{
			s.Marks.name(annotationParts):   strconv.Itoa(parts),
			s.Marks.name(annotationWritten): start.Add(time.Duration(written) * time.Second).Format(timeFormat),
			s.Marks.name(annotationOrigin):  Origin{InputDigest: inputs, Revision: 1}.text(),
		}
		operation := metav1.ManagedFieldsOperationUpdate
		if applied {
			operation = metav1.ManagedFieldsOperationApply
		}
		m.ManagedFields = []metav1.ManagedFieldsEntry{{
			Manager: reconciler, Operation: operation, FieldsV1: metav1.NewFieldsV1(`{"f:data":{"f:manifests.json.gz":{}}}`),
		}}
		return m
	}
	one := func(id string, applied bool, created, written int) metav1.PartialObjectMetadata {
		return secret(id, 0, 1, "inputs", applied, created, written)
	}
	type secrets = []metav1.PartialObjectMetadata
	for _, c := range []struct {
		name  string
		found secrets
		want  []string
	}{
		{"none", nil, nil},
		{"none of other inputs", secrets{secret("a", 0, 1, "others", true, 1, 1)}, nil},
		{"none of which a part is missing", secrets{secret("a", 0, 2, "inputs", true, 1, 1)}, nil},
		{"that of several parts once", secrets{
			secret("a", 0, 2, "inputs", true, 1, 1), secret("a", 1, 2, "inputs", true, 1, 1),
		}, []string{"a"}},
		{
			"the one that was created first, whatever time its annotation has",
			secrets{one("a", true, 2, 999), one("b", true, 1, 1)},
			[]string{"b", "a"},
		},
		{
			"the one that the reconciler applied, although another one was created before",
			secrets{one("a", false, 1, 1), one("b", true, 2, 2)},
			[]string{"b", "a"},
		},
		{
			"after a restore, the one that was created first",
			secrets{one("a", false, 2, 1), one("b", false, 1, 2)},
			[]string{"b", "a"},
		},
		{
			"of the same second, the one that was written first",
			secrets{one("a", true, 1, 2), one("b", true, 1, 1)},
			[]string{"b", "a"},
		},
		{"always the same one of equal ones", secrets{one("b", true, 1, 1), one("a", true, 1, 1)}, []string{"a", "b"}},
		{
			"that with a part of another writer last",
			secrets{
				secret("a", 0, 2, "inputs", true, 1, 1), secret("a", 1, 2, "inputs", false, 1, 1), one("b", true, 2, 2),
			},
			[]string{"b", "a"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := s.Marks.MadeFrom("inputs", c.found); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
