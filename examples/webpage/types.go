package main

import (
	_ "embed" // the custom resource definition

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
)

//go:embed crd.yaml
var crd []byte

// WebPage is a page that a web server serves.
type WebPage struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`

	Spec   WebPageSpec   `json:"spec"`
	Status WebPageStatus `json:"status,omitzero"`
}

// WebPageSpec is the content of a page.
type WebPageSpec struct {
	// HTML is the text of the page.
	HTML string `json:"html"`
	// Exposed makes the page reachable from outside of the cluster.
	Exposed bool `json:"exposed,omitempty"`
}

// WebPageStatus is the status of a page: the fields of the reconciler, and those of this operator.
type WebPageStatus struct {
	metav1alpha1.Status `json:",inline"`
	PageReport          `json:",inline"`
}

// PageReport is the part of the status that the hook in status.go writes.
type PageReport struct {
	// HTMLConfigMap is the name of the ConfigMap with the text that is served. It is empty until the ConfigMap exists.
	HTMLConfigMap string `json:"htmlConfigMap,omitempty"`
	// URL is the address of an exposed page. It is empty until the Ingress has an address.
	URL string `json:"url,omitempty"`
	// AreWeGood is set if all dependents of the page are applied and ready, and none is left to be deleted.
	AreWeGood bool `json:"areWeGood"`
	// ErrorMessage says what is wrong, such as a mistake in the spec or a dependent that failed. It is empty if nothing
	// is.
	ErrorMessage string `json:"errorMessage,omitempty"`
}

// WebPageList is a list of pages.
type WebPageList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []WebPage `json:"items"`
}

var _ component.Validator = (*WebPage)(nil)

// GetParameters returns the parameters of the generator.
func (w *WebPage) GetParameters() (map[string]any, error) {
	return runtime.DefaultUnstructuredConverter.ToUnstructured(&w.Spec)
}

// GetStatus returns the fields of the reconciler.
func (w *WebPage) GetStatus() *metav1alpha1.Status { return &w.Status.Status }

// Validate returns an error if the tags of the page are not balanced.
func (w *WebPage) Validate() error {
	_, err := elementsOf(w.Spec.HTML)
	return err
}

// DeepCopyObject implements runtime.Object.
func (w *WebPage) DeepCopyObject() runtime.Object {
	out := &WebPage{TypeMeta: w.TypeMeta, Spec: w.Spec, Status: WebPageStatus{PageReport: w.Status.PageReport}}
	w.DeepCopyInto(&out.ObjectMeta)
	w.Status.DeepCopyInto(&out.Status.Status)
	return out
}

// DeepCopyObject implements runtime.Object.
func (l *WebPageList) DeepCopyObject() runtime.Object {
	out := &WebPageList{TypeMeta: l.TypeMeta}
	l.DeepCopyInto(&out.ListMeta)
	for i := range l.Items {
		if page, ok := l.Items[i].DeepCopyObject().(*WebPage); ok {
			out.Items = append(out.Items, *page)
		}
	}
	return out
}

func addToScheme(s *runtime.Scheme) {
	version := schema.GroupVersion{Group: "example.fairlead.io", Version: "v1"}
	s.AddKnownTypes(version, &WebPage{}, &WebPageList{})
	metav1.AddToGroupVersion(s, version)
}
