package inspect

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Instance is an object of a managed type.
type Instance struct {
	Key manifests.Key
	UID types.UID
}

// InstanceOf returns an object of a managed type as an Instance.
func InstanceOf(gk schema.GroupKind, obj metav1.Object) Instance {
	return Instance{
		Key: manifests.Key{Group: gk.Group, Kind: gk.Kind, Namespace: obj.GetNamespace(), Name: obj.GetName()},
		UID: obj.GetUID(),
	}
}
