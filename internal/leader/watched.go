package leader

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
)

const (
	// Name is the name of the Lease of the ready-made operator.
	Name = "fairlead-operator"
	// DefaultNamespace is the namespace in which the documentation installs the operator.
	DefaultNamespace = "fairlead-system"
	// AnnotationWatched is an annotation of the Lease: the namespaces whose components the operator reconciles. The value
	// has digests of their names, separated by commas, because all users may read the Lease. An operator that reconciles
	// the components of all namespaces does not set the annotation.
	AnnotationWatched = "fairlead.io/watched-namespaces"
	// AnnotationVersion is an annotation of the Lease: the version of the operator that wrote it last.
	AnnotationVersion = "fairlead.io/operator-version"
)

// Watches reports whether the operator of a Lease reconciles the components of a namespace, as the annotation of the
// Lease says.
func Watches(lease *coordinationv1.Lease, namespace string) bool {
	value := lease.Annotations[AnnotationWatched]
	return value == "" || slices.Contains(strings.Split(value, ","), digest(namespace))
}

// Version returns the version of the operator of a Lease. It is empty if the operator does not publish it.
func Version(lease *coordinationv1.Lease) string { return lease.Annotations[AnnotationVersion] }

// watchedValue returns the value of AnnotationWatched.
func watchedValue(namespaces []string) string {
	var digests []string
	for _, name := range namespaces {
		digests = append(digests, digest(name))
	}
	slices.Sort(digests)
	return strings.Join(slices.Compact(digests), ",")
}

// digest returns 16 hexadecimal digits.
func digest(namespace string) string {
	sum := sha256.Sum256([]byte(namespace))
	return hex.EncodeToString(sum[:8])
}

// announcing returns clients that set annotations in each write of a Lease, so that no further request is needed. Empty
// annotations are removed.
type announcing struct {
	coordinationv1client.LeasesGetter
	annotations map[string]string
}

// Leases implements coordinationv1client.LeasesGetter.
func (a announcing) Leases(namespace string) coordinationv1client.LeaseInterface {
	return announcingLeases{a.LeasesGetter.Leases(namespace), a.annotations}
}

type announcingLeases struct {
	coordinationv1client.LeaseInterface
	annotations map[string]string
}

// Create implements coordinationv1client.LeaseInterface.
func (a announcingLeases) Create(
	ctx context.Context, lease *coordinationv1.Lease, options metav1.CreateOptions,
) (*coordinationv1.Lease, error) {
	return a.LeaseInterface.Create(ctx, a.announce(lease), options)
}

// Update implements coordinationv1client.LeaseInterface.
func (a announcingLeases) Update(
	ctx context.Context, lease *coordinationv1.Lease, options metav1.UpdateOptions,
) (*coordinationv1.Lease, error) {
	return a.LeaseInterface.Update(ctx, a.announce(lease), options)
}

func (a announcingLeases) announce(lease *coordinationv1.Lease) *coordinationv1.Lease {
	lease = lease.DeepCopy()
	for key, value := range a.annotations {
		delete(lease.Annotations, key)
		if value != "" {
			metav1.SetMetaDataAnnotation(&lease.ObjectMeta, key, value)
		}
	}
	return lease
}
