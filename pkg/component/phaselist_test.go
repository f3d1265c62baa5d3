package component

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestWhichRecordOfPhasesCounts(t *testing.T) {
	r := NewReconciler[*part]("parts.example.com", nil, Options{})
	// All were created in the same second, as far as the API server tells.
	at := func(nanoseconds int) string { return time.Unix(1000, int64(nanoseconds)).UTC().Format(timeFormat) }
	part := func(digest string, number int, parts, written string) unstructured.Unstructured {
		var secret unstructured.Unstructured
		secret.SetName(phaseSecretName("owner", digest, number))
		secret.SetAnnotations(map[string]string{r.name + "/" + annotationParts: parts, r.name + "/" + annotationTime: written})
		return secret
	}
	former, latter := part("b", 0, "1", at(9)), part("a", 0, "1", at(10))
	for _, c := range []struct {
		name  string
		found []unstructured.Unstructured
		named string
		want  string
	}{
		{"none where there is none", nil, "a", ""},
		{"the one that was written last", []unstructured.Unstructured{former, latter}, "", "a"},
		{"the one that was written last, whatever comes first", []unstructured.Unstructured{latter, former}, "", "a"},
		{"the one that the status names, whatever was written after it", []unstructured.Unstructured{former, latter}, "b", "b"},
		{"not one that the status names and nobody finds", []unstructured.Unstructured{former}, "a", "b"},
		{"not one of which a part is missing", []unstructured.Unstructured{former, part("a", 1, "2", at(10))}, "a", "b"},
		{"one of several parts", []unstructured.Unstructured{former, part("a", 0, "2", at(10)), part("a", 1, "2", at(10))}, "", "a"},
		{"the same one, where the times are equal or lost", []unstructured.Unstructured{part("b", 0, "1", ""), part("a", 0, "1", "")}, "", "a"},
		{"not one that says nothing of its parts", []unstructured.Unstructured{part("a", 0, "", at(1))}, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := r.latestPhases(c.found, c.named); got != c.want {
				t.Errorf("%q counts, want %q", got, c.want)
			}
		})
	}
}
