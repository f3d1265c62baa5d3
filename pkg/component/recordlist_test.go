package component

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestWhichRecordOfPhasesCounts(t *testing.T) {
	r := NewReconciler[*part]("parts.example.com", nil, Options{})
	// All were created in the same second, as far as the API server tells.
	at := func(nanoseconds int) string { return time.Unix(1000, int64(nanoseconds)).UTC().Format(timeFormat) }
	part := func(digest string, number int, parts, written string) metav1.PartialObjectMetadata {
		var secret metav1.PartialObjectMetadata
		secret.SetName(recordName(recordOfPhases, "owner", digest, number))
		secret.SetAnnotations(map[string]string{r.name + "/" + annotationParts: parts, r.name + "/" + annotationTime: written})
		return secret
	}
	former, latter := part("b", 0, "1", at(9)), part("a", 0, "1", at(10))
	for _, c := range []struct {
		name  string
		found []metav1.PartialObjectMetadata
		named string
		want  string
	}{
		{"none where there is none", nil, "a", ""},
		{"the one that was written last", []metav1.PartialObjectMetadata{former, latter}, "", "a"},
		{"the one that was written last, whatever comes first", []metav1.PartialObjectMetadata{latter, former}, "", "a"},
		{"the one that the status names, whatever was written after it", []metav1.PartialObjectMetadata{former, latter}, "b", "b"},
		{"not one that the status names and nobody finds", []metav1.PartialObjectMetadata{former}, "a", "b"},
		{"not one of which a part is missing", []metav1.PartialObjectMetadata{former, part("a", 1, "2", at(10))}, "a", "b"},
		{"one of several parts", []metav1.PartialObjectMetadata{former, part("a", 0, "2", at(10)), part("a", 1, "2", at(10))}, "", "a"},
		{"the same one, where the times are equal or lost", []metav1.PartialObjectMetadata{part("b", 0, "1", ""), part("a", 0, "1", "")}, "", "a"},
		{"not one that says nothing of its parts", []metav1.PartialObjectMetadata{part("a", 0, "", at(1))}, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := r.latestRecord(c.found, c.named); got != c.want {
				t.Errorf("%q counts, want %q", got, c.want)
			}
		})
	}
}
