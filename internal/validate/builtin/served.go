package builtin

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
)

// Served returns the API versions of the built-in types, each in the form group/version.
func Served() []string {
	var served []string
	for _, gv := range clientgoscheme.Scheme.PrioritizedVersionsAllGroups() {
		served = append(served, gv.String())
	}
	return append(served, apiextensionsv1.SchemeGroupVersion.String(), apiextensionsv1beta1.SchemeGroupVersion.String())
}
