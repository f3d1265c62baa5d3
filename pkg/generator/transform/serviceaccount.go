package transform

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/pkg/generator"
)

// defaultAccount is the service account of pods whose manifests set no service account.
const defaultAccount = "default"

// ServiceAccount replaces the service account from by to: in pods, pod templates and the subjects of bindings. If from
// is "default", pods that name no service account are changed too.
//
// Only pods and subjects in the component's namespace are changed. Objects of kind ServiceAccount are not changed; if
// the old account is no longer used, remove it from the source.
func ServiceAccount(from, to string) generator.Transformer {
	return serviceAccount{from: from, to: to}
}

type serviceAccount struct{ from, to string }

var _ generator.Versioner = serviceAccount{}

// Transform implements generator.Transformer.
func (s serviceAccount) Transform(
	_ context.Context,
	req generator.Request,
	objects []*unstructured.Unstructured,
) ([]*unstructured.Unstructured, error) {
	for _, object := range objects {
		if path := podSpecOf(object); path != nil && in(req.Namespace, object.GetNamespace()) {
			if spec, ok := nested(object.Object, path...); ok {
				s.replaceInPod(spec)
			}
		}
		if isBinding(object) {
			s.replaceInSubjects(req.Namespace, object)
		}
	}
	return objects, nil
}

// Version returns the accounts.
func (s serviceAccount) Version() string { return fmt.Sprintf("service account %q %q", s.from, s.to) }

// replaceInPod changes a pod spec. It keeps the deprecated field equal to its replacement, as the API server does.
func (s serviceAccount) replaceInPod(spec map[string]any) {
	name, _ := spec["serviceAccountName"].(string)
	deprecated, named := spec["serviceAccount"].(string)
	if name == "" {
		name = deprecated
	}
	if name == "" {
		name = defaultAccount
	}
	if name != s.from {
		return
	}
	spec["serviceAccountName"] = s.to
	if named {
		spec["serviceAccount"] = s.to
	}
}

func (s serviceAccount) replaceInSubjects(namespace string, binding *unstructured.Unstructured) {
	subjects, _ := binding.Object["subjects"].([]any)
	for _, entry := range subjects {
		subject, ok := entry.(map[string]any)
		if !ok || subject["kind"] != "ServiceAccount" || subject["name"] != s.from {
			continue
		}
		if place, _ := subject["namespace"].(string); in(namespace, place) {
			subject["name"] = s.to
		}
	}
}

// in reports whether an object is in the component's namespace. An object without a namespace is in it too.
func in(namespace, named string) bool { return named == "" || named == namespace }

// podSpecOf returns the path of the pod spec in an object of a built-in type, or nil if objects of the type have no pod
// spec.
func podSpecOf(object *unstructured.Unstructured) []string {
	switch object.GroupVersionKind().GroupKind().String() {
	case "Pod":
		return []string{"spec"}
	case "PodTemplate":
		return []string{"template", "spec"}
	case "Deployment.apps",
		"StatefulSet.apps",
		"DaemonSet.apps",
		"ReplicaSet.apps",
		"ReplicationController",
		"Job.batch":
		return []string{"spec", "template", "spec"}
	case "CronJob.batch":
		return []string{"spec", "jobTemplate", "spec", "template", "spec"}
	}
	return nil
}

func isBinding(object *unstructured.Unstructured) bool {
	switch object.GroupVersionKind().GroupKind().String() {
	case "RoleBinding.rbac.authorization.k8s.io", "ClusterRoleBinding.rbac.authorization.k8s.io":
		return true
	}
	return false
}

// nested returns a map inside a map. The caller may change it.
func nested(content map[string]any, path ...string) (map[string]any, bool) {
	for _, key := range path {
		level, ok := content[key].(map[string]any)
		if !ok {
			return nil, false
		}
		content = level
	}
	return content, true
}
