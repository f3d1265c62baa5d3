package holes

import (
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Place is the position of a text in a manifest.
type Place []string

func (p Place) String() string { return strings.Join(p, ".") }

// IsText reports whether Kubernetes permits only texts at the place: the values of labels and annotations, also of pod
// templates; the data of ConfigMaps and Secrets; the commands, arguments and variables of containers.
func (p Place) IsText(gk schema.GroupKind) bool {
	n := len(p)
	switch {
	case n >= 3 && p[n-3] == "metadata":
		return p[n-2] == "labels" || p[n-2] == "annotations"
	case n == 2 && gk.Group == "" && (gk.Kind == "ConfigMap" || gk.Kind == "Secret"):
		return p[0] == "data" || p[0] == "binaryData"
	case n >= 4 && containerLists[p[n-4]]:
		return p[n-2] == "command" || p[n-2] == "args"
	case n >= 5 && containerLists[p[n-5]]:
		return p[n-3] == "env" && p[n-1] == "value"
	}
	return false
}

// containerLists are the fields with the containers of a pod.
var containerLists = map[string]bool{"containers": true, "initContainers": true}

// IsEncoded reports whether the texts at the place are encoded with base64.
func (p Place) IsEncoded(gk schema.GroupKind) bool {
	return len(p) == 2 && p[0] == "data" && gk == secret
}

// IsIdentity reports whether a text at the place identifies the object, or is a setting.
func (p Place) IsIdentity(reconciler string) bool {
	switch {
	case len(p) == 1:
		return p[0] == "apiVersion" || p[0] == "kind"
	case len(p) == 2 && p[0] == "metadata":
		return true
	case len(p) == 3 && p[0] == "metadata" && (p[1] == "annotations" || p[1] == "labels"):
		return strings.HasPrefix(p[2], reconciler+"/")
	}
	return false
}

// isIndex reports whether a part of a place is an index of a list. A field whose name is a number counts as one.
func isIndex(part string) bool {
	_, err := strconv.Atoi(part)
	return err == nil
}

var secret = schema.GroupKind{Kind: "Secret"}
