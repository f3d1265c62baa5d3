package execute

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
)

// validation returns the field validation of an apply: how the API server handles unknown and repeated fields. The
// validation is off for built-in types, because a server-side apply refuses unknown fields anyway, and an encoded
// object has no repeated fields. The validation would parse each manifest twice, which is a tenth of the cost of an
// apply. Other types have the default validation: the API server drops unknown fields and returns a warning.
func validation(body *unstructured.Unstructured) string {
	if clientgoscheme.Scheme.Recognizes(body.GroupVersionKind()) {
		return metav1.FieldValidationIgnore
	}
	return ""
}
