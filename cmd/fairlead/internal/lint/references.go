package lint

import (
	"fmt"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// podPaths are the paths of the pod specs of built-in types.
var podPaths = map[string][]string{
	"Pod":                   {"spec"},
	"PodTemplate":           {"template", "spec"},
	"Deployment.apps":       {"spec", "template", "spec"},
	"StatefulSet.apps":      {"spec", "template", "spec"},
	"DaemonSet.apps":        {"spec", "template", "spec"},
	"ReplicaSet.apps":       {"spec", "template", "spec"},
	"ReplicationController": {"spec", "template", "spec"},
	"Job.batch":             {"spec", "template", "spec"},
	"CronJob.batch":         {"spec", "jobTemplate", "spec", "template", "spec"},
}

// node is a value in a manifest with its path.
type node struct {
	path  string
	value any
}

// at returns the value at the given path below a node. The value is nil if there is none.
func at(n node, path ...string) node {
	for _, name := range path {
		fields, _ := n.value.(map[string]any)
		if n.path != "" {
			n.path += "."
		}
		n = node{n.path + name, fields[name]}
	}
	return n
}

// items returns the elements of a list.
func (n node) items() []node {
	list, _ := n.value.([]any)
	found := make([]node, 0, len(list))
	for i, value := range list {
		found = append(found, node{fmt.Sprintf("%s[%d]", n.path, i), value})
	}
	return found
}

func (n node) text() string {
	text, _ := n.value.(string)
	return text
}

// finder collects references.
type finder struct {
	namespace string
	found     []reference
}

// add adds a reference to an object of the namespace. name is the field with the name of the object.
func (f *finder) add(kind string, name, optional node) {
	if name.text() == "" {
		return
	}
	isOptional, _ := optional.value.(bool)
	f.found = append(f.found, reference{
		key:   manifests.Key{Kind: kind, Namespace: f.namespace, Name: name.text()},
		field: name.path, optional: isOptional,
	})
}

// addKey adds a reference to an object of any group and namespace. name is the field with the name of the object.
func (f *finder) addKey(key manifests.Key, name node) {
	if key.Name = name.text(); key.Name != "" {
		f.found = append(f.found, reference{key: key, field: name.path})
	}
}

// addClass adds a reference to a class of the cluster. name is the field with the name of the class.
func (f *finder) addClass(group, kind string, name node) {
	if name.text() != "" {
		key := manifests.Key{Group: group, Kind: kind, Name: name.text()}
		f.found = append(f.found, reference{key: key, field: name.path, class: true})
	}
}

// named adds the reference in a value with the fields name and optional.
func (f *finder) named(kind string, n node) { f.add(kind, at(n, "name"), at(n, "optional")) }

func (f *finder) pod(spec node) {
	f.add("ServiceAccount", at(spec, "serviceAccountName"), node{})
	f.addClass("scheduling.k8s.io", "PriorityClass", at(spec, "priorityClassName"))
	f.addClass("node.k8s.io", "RuntimeClass", at(spec, "runtimeClassName"))
	for _, secret := range at(spec, "imagePullSecrets").items() {
		f.named("Secret", secret)
	}
	for _, volume := range at(spec, "volumes").items() {
		f.volume(volume)
		for _, source := range at(volume, "projected", "sources").items() {
			f.named("ConfigMap", at(source, "configMap"))
			f.named("Secret", at(source, "secret"))
		}
	}
	for _, list := range []string{"initContainers", "containers"} {
		for _, container := range at(spec, list).items() {
			f.container(container)
		}
	}
}

func (f *finder) volume(volume node) {
	f.named("ConfigMap", at(volume, "configMap"))
	f.add("Secret", at(volume, "secret", "secretName"), at(volume, "secret", "optional"))
	f.add("PersistentVolumeClaim", at(volume, "persistentVolumeClaim", "claimName"), node{})
	f.named("Secret", at(volume, "csi", "nodePublishSecretRef"))
	f.claim(at(volume, "ephemeral", "volumeClaimTemplate"))
}

// claim adds the class of a PersistentVolumeClaim.
func (f *finder) claim(body node) {
	f.addClass("storage.k8s.io", "StorageClass", at(body, "spec", "storageClassName"))
}

func (f *finder) container(container node) {
	for _, source := range at(container, "envFrom").items() {
		f.named("ConfigMap", at(source, "configMapRef"))
		f.named("Secret", at(source, "secretRef"))
	}
	for _, variable := range at(container, "env").items() {
		f.named("ConfigMap", at(variable, "valueFrom", "configMapKeyRef"))
		f.named("Secret", at(variable, "valueFrom", "secretKeyRef"))
	}
}

// external adds the Secrets and ConfigMaps that an external refers to.
func (f *finder) external(body node) {
	for _, ref := range at(body, "references").items() {
		f.add(at(ref, "kind").text(), at(ref, "name"), node{})
	}
}

// binding adds the role and the service accounts of a binding.
func (f *finder) binding(body node) {
	role := manifests.Key{Group: "rbac.authorization.k8s.io", Kind: at(body, "roleRef", "kind").text()}
	name := at(body, "roleRef", "name")
	if role.Kind == "Role" {
		role.Namespace = f.namespace
	}
	f.addKey(role, name)
	for _, subject := range at(body, "subjects").items() {
		if at(subject, "kind").text() == "ServiceAccount" {
			f.addKey(manifests.Key{Kind: "ServiceAccount", Namespace: at(subject, "namespace").text()}, at(subject, "name"))
		}
	}
}
