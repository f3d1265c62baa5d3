package transform

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/pkg/generator"
)

// defaultAccount is the service account of pods that name none.
const defaultAccount = "default"

// ServiceAccount lets everything that uses the service account from use the service account to instead: pods and what makes pods, and the
// subjects of bindings. "default" as from means the pods that name no service account, too.
//
// It is about the account of the component's namespace: pods and subjects of other namespaces stay as they are. So do objects of kind
// ServiceAccount; leave out one that nobody uses any more.
func ServiceAccount(from, to string) generator.Transformer {
	return serviceAccount{from: from, to: to}
}

type serviceAccount struct{ from, to string }

var _ generator.Versioner = serviceAccount{}

// Transform implements generator.Transformer.
func (s serviceAccount) Transform(_ context.Context, req generator.Request, objects []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
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

// Version tells the accounts.
func (s serviceAccount) Version() string { return fmt.Sprintf("service account %q %q", s.from, s.to) }

// replaceInPod changes a pod's spec. The API server keeps the deprecated field equal to the other, and so does this.
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

// in says whether an object that names a namespace, or none, is in the component's.
func in(namespace, named string) bool { return named == "" || named == namespace }

// podSpecOf returns where an object of a built-in type has the spec of a pod; nil where it has none.
func podSpecOf(object *unstructured.Unstructured) []string {
	switch object.GroupVersionKind().GroupKind().String() {
	case "Pod":
		return []string{"spec"}
	case "PodTemplate":
		return []string{"template", "spec"}
	case "Deployment.apps", "StatefulSet.apps", "DaemonSet.apps", "ReplicaSet.apps", "ReplicationController", "Job.batch":
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

// nested returns a map inside a map, to be changed.
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
