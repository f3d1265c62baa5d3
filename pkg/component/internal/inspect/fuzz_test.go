package inspect

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/fuzzing"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// A tenant writes the status, the metadata and the managed fields of his objects.
func FuzzObject(f *testing.F) {
	const head = `{"apiVersion":"example.com/v1","kind":"Shop","metadata":{"name":"a","annotations":` +
		`{"fairlead.io/status-hint":"conditions=A","fairlead.io/owner-id":"a/b/c/d/e/f"},"managedFields":[{"manager":` +
		`"fairlead.io","operation":"Apply","fieldsV1":{"f:spec":{"k:{\"a\":1}":{".":{},"v:1":{}}}}}]}`
	for _, seed := range []string{
		head + `,"spec":[{"a":1}],"status":{"observedGeneration":"7","conditions":[{"type":"A","status":"True"},null]}}`,
		head + `,"status":{"conditions":{"a":[]},"phase":3}}`,
		`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"generation":2},"spec":{"replicas":"a"},` +
			`"status":{"replicas":1.5,"conditions":[{"type":"Progressing","reason":[]}]}}`,
		`{"apiVersion":"batch/v1","kind":"Job","spec":{"ttlSecondsAfterFinished":0},"status":{"conditions":[{}]}}`,
		`{"apiVersion":"v1","kind":"Pod","spec":{"restartPolicy":"Never"},"status":{"containerStatuses":[1]}}`,
		`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","status":{"acceptedNames":[]}}`,
	} {
		f.Add([]byte(seed))
	}
	const reconciler = "fairlead.io"
	fuzzing.Run(f, func(t *testing.T, text []byte) {
		obj := &unstructured.Unstructured{}
		if json.Unmarshal(text, &obj.Object) != nil || obj.Object == nil {
			return
		}
		observed := View{Reconciler: reconciler}.Object(t.Context(), obj)
		if observed.Presence != plan.Present {
			t.Errorf("the object is %s", observed.Presence)
		}
		for _, policy := range []metav1alpha1.UpdatePolicy{metav1alpha1.UpdateReplace, metav1alpha1.UpdateSSAOverride} {
			Compare(observed, obj, manifests.Object{Body: obj}, policy, reconciler)
		}
	})
}
