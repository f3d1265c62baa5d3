package v1alpha1

import (
	"k8s.io/apimachinery/pkg/types"
)

// DeleteIfEmpty is the delete policy of a namespace that was created because of MissingNamespacesOwn. It is only in
// InventoryEntry and in the annotation of the namespace: manifests and specs must not contain it. A version that does
// not know the policy releases the namespace.
const DeleteIfEmpty DeletePolicy = "if-empty"

// InventoryEntry describes one dependent. Status.Inventory, or the Secrets that Status.InventoryRecord names, contain
// entries in their text form, which has about 110 bytes:
//
//	apps/v1/Deployment/shop/web u=8f0c…  d=5b0e… f=91aa… o=1
//
// The text begins with group/version/kind/namespace/name, in which group and namespace may be empty. Then follow the
// fields that are not zero. All texts are path-escaped. A reader keeps unknown fields. An exception are critical
// fields, whose key is !name@version: a reader to which the name is unknown returns an UnknownFieldError, with the
// first version that knows the field. A field is critical if a reader that ignores it would write or delete a wrong
// object.
type InventoryEntry struct {
	Group, Version, Kind, Namespace, Name string

	// UID is the UID of the object at the last write. It is empty until the first write succeeded.
	UID types.UID
	// Digest is the digest of the manifest at the last apply. It is empty until the first apply succeeded.
	Digest string
	// Fields is a hash of the managed fields that the reconciler owned after the last write. It is empty if drift is
	// detected by comparing values instead.
	Fields string
	// Values is a hash of the values that the API server stored for the fields of the manifest. It is set if drift is
	// detected by comparing values.
	Values string
	// Revision is the revision of the component from which the manifest with Digest was rendered. It is zero if the
	// revision is unknown.
	Revision int64
	// Rendition is the rendition of Revision; see Status.Rendition.
	Rendition int64
	// Order is the number of the wave in which the object is applied.
	Order int
	// DeleteOrder is the number of the wave in which the object is deleted. If it is nil, the delete order is the reverse
	// of the apply order.
	DeleteOrder *int
	// UpdatePolicy is the update policy at the last write of the entry. If it is empty, the reconciler's default
	// applies.
	UpdatePolicy UpdatePolicy
	// DeletePolicy is the delete policy at the last write of the entry, from the manifest or from a default. If it is
	// empty, the policy is delete, or orphan for PersistentVolumeClaims. It is if-empty for a namespace that was created
	// for the component.
	DeletePolicy DeletePolicy
	// PrunePolicy is the prune policy at the last write of the entry. If it is empty, the policy is when-ready. The
	// field is not critical, because a reader that ignores it prunes the object later.
	PrunePolicy PrunePolicy
	// Completed is set if the object, such as a Job, completed its work and may no longer exist, or if it was purged. The
	// object is not created again until its reconcile policy requires another apply.
	Completed bool
	// Immutable is a hash of the values that the manifest of the last write sets for fields that cannot change; see
	// manifests.Object. It is zero if the manifest sets no such field, or if an older version wrote the entry. The
	// field is not critical, because a reader that ignores it only finds a changed field at its write.
	Immutable uint32
	// Trigger identifies the state of the component at the last apply. It is empty unless the reconcile policy is
	// on-object-or-component-change. For an object of a deletion phase with Failed set, it identifies the request for a
	// pass after which the object failed.
	Trigger string
	// AppliedAt is the time of the object's last apply, in seconds since 1970. It is zero if the object has neither a
	// reapply interval nor a timeout.
	AppliedAt int64
	// Guarded is set before the reconciler creates an admission policy that denies new instances of the types that this
	// dependent defines. Such a policy exists while the dependent is about to be deleted.
	Guarded bool
	// LeftOut is set if the last decision was not to apply the object, because a condition of the rendering was false: its
	// own, or that of an object that it depends on. While a condition has no value, there is no decision, and the field
	// stays as it is. The field is not critical, because a reader that ignores it evaluates the conditions.
	LeftOut bool
	// Phase is the phase of the deletion in which the object is applied. It is empty for ordinary dependents. If Completed
	// is set and UID is empty, the object completed its work, no longer exists, and is not applied again.
	Phase string
	// Occurrence is set for an object that is applied at several points of the order. It is the number, from 1, of the
	// point that the entry describes. The apply of the object at earlier points is complete. Occurrence is 0 for other
	// objects. The field is critical, because a reader that ignores it would apply the object again at earlier points.
	Occurrence int
	// Failed is the message of an object that failed and was therefore deleted. It is empty for other objects. The field
	// is critical, because a reader that ignores it would create the object again.
	Failed string
	// DependsOn contains the objects and groups that the object depends on, in the form of the annotation depends-on. The
	// object is deleted before them. The field is critical, because a reader that ignores it would delete the object too
	// late, or the objects that it depends on too early.
	DependsOn string
	// DependencyGroup is the name of the group that the object belongs to. Only DependsOn of other entries refers to it,
	// so the field is not critical.
	DependencyGroup string
	// HeldSince is set while the object waits for its dependencies, if this wait has a timeout: the start of the wait in
	// seconds since 1970 and, after a slash, the revision of the component. The field is not critical, because a reader
	// that ignores it only reports the end of the timeout later.
	HeldSince string
	// External is set for a dependent outside Kubernetes. UID is then the token of the external. The field is critical,
	// because a reader that ignores it would take the external for an object of a type that no API server serves, and
	// would forget it.
	External bool
	// Begun is set before the first call that creates or adopts an external. The state of such an external is in a Secret.
	Begun bool
	// CreationToken is the token of the last create of an external that has begun, until UID is that token. It finds the
	// external if its state is lost. The field is not critical, because a reader that ignores it asks a person.
	CreationToken string
	// Types are the managed types that this dependent defines. The format of each is Kind.group, or *.group.
	Types []string
	// Unserved is set for a definition (a CustomResourceDefinition or APIService) whose types have never been served since
	// it was created for the component. It identifies the last observed state of the definition, and is only valid as long
	// as the live object is in this state. The field is not critical, because a reader that ignores it assumes that the
	// types were served.
	Unserved string
	// Overridden names fields that admission or the API server changed in the last write of the object. It is empty if
	// there are none. The field is not critical, because a reader that ignores it only does not report them.
	Overridden string

	// unknown contains the fields that are unknown to this version, because a newer version wrote them.
	unknown []string
}

// EffectiveDeleteOrder returns the number of the wave in which the object is deleted: DeleteOrder, or else the negative
// of Order. A deletion begins with the wave that has the lowest number.
func (e InventoryEntry) EffectiveDeleteOrder() int {
	if e.DeleteOrder != nil {
		return *e.DeleteOrder
	}
	return -e.Order
}
