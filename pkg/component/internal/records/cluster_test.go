package records

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/fairlead-io/fairlead/pkg/component/internal/records/secretstest"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

const reconciler = "parts.example.com"

var start = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func owner(name string) manifests.Owner {
	return manifests.Owner{
		Cluster: "here", Reconciler: reconciler, Group: "example.com", Kind: "Part", Namespace: "shop", Name: name,
	}
}

// cluster is a fake cluster in which the components and their Secrets are stored.
type cluster struct {
	*secretstest.Server
	clock *clocktesting.FakePassiveClock
	// ending are the namespaces that are being deleted.
	ending []string
}

// newCluster returns an empty cluster, and a Store that uses it.
func newCluster(*testing.T) (*cluster, *Store) {
	c := &cluster{Server: secretstest.New(), clock: clocktesting.NewFakePassiveClock(start)}
	return c, NewStore(Options{
		Reconciler: reconciler, Namespace: "operator", Dynamic: c.Dynamic(), Metadata: c.Metadata(), Clock: c.clock,
		NamespaceGoes: func(_ context.Context, namespace string) bool { return slices.Contains(c.ending, namespace) },
		VerifyCluster: func(_ context.Context, name types.NamespacedName) error {
			if name.Name == "elsewhere" {
				return errors.New("another cluster")
			}
			return nil
		},
	})
}

// addKubeconfig stores a Secret that is not a record.
func (c *cluster) addKubeconfig(name string, finalizers ...string) *unstructured.Unstructured {
	secret := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret"}}
	secret.SetNamespace("shop")
	secret.SetName(name)
	secret.SetUID(types.UID("uid-" + name))
	secret.SetFinalizers(finalizers)
	c.Add(secret)
	return secret
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// write writes a record with some content, and returns the name of its Secret.
func write(t *testing.T, s *Store, o manifests.Owner, kind Kind, id string) string {
	t.Helper()
	parts, err := Encode(Inventory, []string{"one", "two"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Write(t.Context(), o, Record{Kind: kind, ID: id}, parts); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s-%s-%s-0", kind, o.ID(), id)
}

func forbidden() error {
	return apierrors.NewForbidden(corev1.Resource("secrets"), "", errors.New(`User "op" cannot list`))
}
