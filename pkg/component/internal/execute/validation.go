package execute

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
)

// validation returns how strictly the API server is to look for unknown and repeated fields in what is applied. Of a built-in type it
// refuses unknown fields in any case, because they are in no schema, and what we encode repeats none: looking again means to parse every
// manifest twice, a tenth of what an apply costs the server. Of other types the server drops unknown fields, and its warning is wanted.
func validation(body *unstructured.Unstructured) string {
	if clientgoscheme.Scheme.Recognizes(body.GroupVersionKind()) {
		return metav1.FieldValidationIgnore
	}
	return ""
}
