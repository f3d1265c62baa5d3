package validate

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// notStored says what the built-in kinds are of which no client can create an object.
var notStored = map[schema.GroupKind]string{
	{Kind: "Binding"}:                                                 request,
	{Kind: "ComponentStatus"}:                                         "its API server supports only reads of it",
	{Kind: "NodeProxyOptions"}:                                        subresource,
	{Kind: "PodAttachOptions"}:                                        subresource,
	{Kind: "PodExecOptions"}:                                          subresource,
	{Kind: "PodPortForwardOptions"}:                                   subresource,
	{Kind: "PodProxyOptions"}:                                         subresource,
	{Kind: "ServiceProxyOptions"}:                                     subresource,
	{Group: "authentication.k8s.io", Kind: "SelfSubjectReview"}:       request,
	{Group: "authentication.k8s.io", Kind: "TokenRequest"}:            subresource,
	{Group: "authentication.k8s.io", Kind: "TokenReview"}:             request,
	{Group: "authorization.k8s.io", Kind: "LocalSubjectAccessReview"}: request,
	{Group: "authorization.k8s.io", Kind: "SelfSubjectAccessReview"}:  request,
	{Group: "authorization.k8s.io", Kind: "SelfSubjectRulesReview"}:   request,
	{Group: "authorization.k8s.io", Kind: "SubjectAccessReview"}:      request,
	{Group: "autoscaling", Kind: "Scale"}:                             subresource,
	{Group: "policy", Kind: "Eviction"}:                               subresource,
}

const (
	request     = "it is a request to the API server, which stores no objects of it"
	subresource = "it is only a subresource of other types"
)

// NotStored returns the fault of an object of a kind of which nobody can create objects. why follows "because".
func NotStored(gk schema.GroupKind, why string) Fault {
	return Fault{
		Field: "kind", Certain: true,
		Message: fmt.Sprintf("%s cannot be a dependent, because %s; remove it from the manifests", gk, why),
	}
}

// Subresource returns the fault of an object of a kind that is only a subresource.
func Subresource(gk schema.GroupKind) Fault { return NotStored(gk, subresource) }

// checkKind checks that clients can create objects of a built-in kind.
func checkKind(s Subject) []Fault {
	if why := notStored[s.Object.Key.GroupKind()]; why != "" {
		return []Fault{NotStored(s.Object.Key.GroupKind(), why)}
	}
	return nil
}
