package cluster_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/internal/leader"
)

// leaseOf returns the Lease of an operator that renewed it before a time, and watches a namespace, or all if watched is
// empty.
func leaseOf(namespace string, age time.Duration, watched string) *coordinationv1.Lease {
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: leader.Name},
		Spec:       coordinationv1.LeaseSpec{RenewTime: new(metav1.NewMicroTime(time.Now().Add(-age)))},
	}
	if watched != "" {
		sum := sha256.Sum256([]byte(watched))
		lease.Annotations = map[string]string{leader.AnnotationWatched: hex.EncodeToString(sum[:8])}
	}
	return lease
}

// listed are the results of requests for all Leases.
type listed struct {
	forbidden bool
	count     int
}

// connected returns a cluster with Leases.
func connected(lists *listed, leases []*coordinationv1.Lease) *cluster.Cluster {
	builder := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).
		WithIndex(&coordinationv1.Lease{}, "metadata.name", func(o client.Object) []string { return []string{o.GetName()} }).
		WithInterceptorFuncs(interceptor.Funcs{
			List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
				lists.count++
				if lists.forbidden {
					return apierrors.NewForbidden(coordinationv1.Resource("leases"), "", nil)
				}
				return c.List(ctx, list, options...)
			},
		})
	for _, lease := range leases {
		builder.WithObjects(lease)
	}
	return &cluster.Cluster{Client: builder.Build()}
}

func componentIn(namespace string) cluster.Target {
	return cluster.Target{Namespace: namespace, Mapping: &meta.RESTMapping{
		Resource:         v1alpha1.GroupVersion.WithResource("components"),
		GroupVersionKind: v1alpha1.GroupVersion.WithKind("Component"),
	}}
}

func TestAnyOperatorThatWatchesTheNamespaceServesIt(t *testing.T) {
	const (
		// After five more seconds a Lease counts as old.
		old   = 3*time.Minute - 5*time.Second
		old3m = "no operator has held the Lease fairlead-system/fairlead-operator for 3m; if yours runs without leader " +
			"election, delete this Lease"
		another = "; FAIRLEAD_OPERATOR_NAMESPACE names the namespace of another operator"
		nobody  = "the operator does not watch namespace us, so nobody serves the components there"
	)
	type leases = []*coordinationv1.Lease
	for _, c := range []struct {
		name      string
		leases    func() leases
		forbidden bool
		message   string
		// lists is the number of requests for all Leases.
		lists int
	}{
		{"an operator of all namespaces", func() leases {
			return leases{leaseOf("fairlead-system", 0, "")}
		}, false, "", 0},
		{"an old Lease", func() leases {
			return leases{leaseOf("fairlead-system", old, "")}
		}, false, old3m, 1},
		{"a Lease that was renewed a minute ago", func() leases {
			return leases{leaseOf("fairlead-system", time.Minute, "")}
		}, false, strings.Replace(old3m, "3m", "65s", 1), 1},
		{"an old Lease of an uninstalled operator", func() leases {
			return leases{leaseOf("fairlead-system", old, ""), leaseOf("other", 0, "")}
		}, false, "", 1},
		{"an old Lease of an uninstalled operator, and no right to list", func() leases {
			return leases{leaseOf("fairlead-system", old, ""), leaseOf("other", 0, "")}
		}, true, old3m + another, 1},
		{"operators of one namespace each", func() leases {
			return leases{leaseOf("fairlead-system", 0, "them"), leaseOf("other", 0, "us")}
		}, false, "", 1},
		{"operators of one namespace each, and no right to list", func() leases {
			return leases{leaseOf("fairlead-system", 0, "them"), leaseOf("other", 0, "us")}
		}, true, "the operator of the Lease fairlead-system/fairlead-operator does not watch namespace us" + another, 1},
		{"operators of one namespace each, and ours does not run", func() leases {
			return leases{leaseOf("other", 0, "them"), leaseOf("fairlead-system", old, "us")}
		}, false, old3m, 1},
		{"only an operator of another namespace", func() leases {
			return leases{leaseOf("fairlead-system", 0, "them"), leaseOf("other", old, "them")}
		}, false, nobody, 1},
		{"a Lease in the future", func() leases {
			return leases{leaseOf("fairlead-system", -old, "")}
		}, false, "no operator has held the Lease fairlead-system/fairlead-operator for 5s; if yours runs without leader " +
			"election, delete this Lease", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lists := &listed{forbidden: c.forbidden}
				o := connected(lists, c.leases()).Operator(t.Context(), componentIn("us"))
				state := cluster.OperatorServes
				if c.message != "" {
					state = cluster.OperatorAbsent
				}
				if o.State != state || o.Message != c.message {
					t.Errorf("state %s, message %q, want %q", o.State, o.Message, c.message)
				}
				if lists.count != c.lists {
					t.Errorf("%d requests for all Leases, want %d", lists.count, c.lists)
				}
			})
		})
	}
}

func TestAListOfComponentsHasSeveralOperators(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := connected(&listed{}, []*coordinationv1.Lease{
			leaseOf("fairlead-system", 0, "them"), leaseOf("other", 0, "us"), leaseOf("uninstalled", time.Hour, ""),
		})
		o := c.Operator(t.Context(), componentIn(""))
		for namespace, want := range map[string]cluster.OperatorState{
			"": cluster.OperatorServes, "us": cluster.OperatorServes, "them": cluster.OperatorServes,
			"else": cluster.OperatorAbsent,
		} {
			if got := o.In(namespace); got.State != want {
				t.Errorf("namespace %q: %s, %s", namespace, got.State, got.Message)
			}
		}
	})
}

func TestALeaseThatLooksOldIsReadAgain(t *testing.T) {
	for name, offset := range map[string]time.Duration{"behind": time.Hour, "ahead": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lease := leaseOf("fairlead-system", offset, "")
				c := connected(&listed{}, []*coordinationv1.Lease{lease})
				go func() {
					time.Sleep(1500 * time.Millisecond)
					renewed := leaseOf("fairlead-system", offset, "")
					if err := c.Patch(t.Context(), renewed, client.Merge); err != nil {
						t.Error(err)
					}
				}()
				if o := c.Operator(t.Context(), componentIn("us")); o.State != cluster.OperatorServes {
					t.Errorf("state %s, message %q", o.State, o.Message)
				}
			})
		})
	}
}
