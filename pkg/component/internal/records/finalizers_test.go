package records

import (
	"errors"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/internal/marks"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestRecordsHaveAFinalizerWhereTheRightToRemoveItOutlivesTheirNamespace(t *testing.T) {
	for _, test := range []struct {
		name      string
		allowed   bool
		broken    error
		namespace string
		want      bool
		// asked is the expected number of access reviews for two writes, and for a third write after reviewInterval.
		asked int
	}{
		{name: "if the right is granted in all namespaces", allowed: true, namespace: "shop", want: true, asked: 2},
		{name: "not if the right is granted in one namespace", namespace: "shop", asked: 2},
		{name: "if the review fails", broken: errors.New("broken"), namespace: "shop", want: true, asked: 3},
		{name: "in the namespace of cluster-scoped components", want: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, s := newCluster(t)
			asked := 0
			c.Allowed = test.allowed
			c.Refuse = func(verb, _ string) error {
				if verb != "create" {
					return nil
				}
				asked++
				return test.broken
			}
			o := owner("app")
			o.Namespace = test.namespace
			for _, id := range []string{"a", "b", "c"} {
				if id == "c" {
					c.clock.SetTime(start.Add(reviewInterval))
				}
				name := write(t, s, o, Phases, id)
				secret := c.Secrets[types.NamespacedName{Namespace: s.NamespaceOf(o), Name: name}]
				if got := slices.Contains(secret.GetFinalizers(), "parts.example.com/finalizer"); got != test.want {
					t.Errorf("record %s has the finalizer: %t", id, got)
				}
			}
			if asked != test.asked {
				t.Errorf("%d access reviews were sent", asked)
			}
			for _, review := range c.Reviews {
				if review["verb"] != "patch" || review["resource"] != "secrets" || review["namespace"] != "" {
					t.Errorf("the access review is for the wrong request %v", review)
				}
			}
		})
	}
}

func TestTheLastAnswerCountsWhileAccessReviewsFail(t *testing.T) {
	c, s := newCluster(t)
	c.Allowed = false
	before := s.review.mayPatchAnywhere(t.Context())
	c.clock.SetTime(start.Add(reviewInterval))
	c.Refuse = func(string, string) error { return errors.New("broken") }
	if after := s.review.mayPatchAnywhere(t.Context()); before || after {
		t.Errorf("the finalizer was allowed: %t, and after a failed access review: %t", before, after)
	}
}

func TestFinalizersOfKubeconfigs(t *testing.T) {
	c, s := newCluster(t)
	a, b := owner("a"), owner("b")
	first, second := c.addKubeconfig("first", "example.com/other"), c.addKubeconfig("second")
	move := func(o manifests.Owner, previous, secret string) {
		t.Helper()
		if err := s.Finalizers.Move(t.Context(), o, previous, secret); err != nil {
			t.Fatal(err)
		}
	}
	move(a, "", "first")
	move(b, "", "first")
	if !s.Finalizers.Has(first, a) || !s.Finalizers.Has(first, b) || s.Finalizers.Has(second, a) {
		t.Errorf("the Secret has the wrong finalizers %q", first.GetFinalizers())
	}
	version := first.GetResourceVersion()
	move(a, "", "first")
	if first.GetResourceVersion() != version {
		t.Error("the finalizer is written again although the Secret has it")
	}
	move(a, "first", "second")
	if s.Finalizers.Has(first, a) || !s.Finalizers.Has(first, b) || !s.Finalizers.Has(second, a) {
		t.Errorf("after the record moved, the two Secrets have the finalizers %q and %q",
			first.GetFinalizers(), second.GetFinalizers())
	}
	move(b, "first", "")
	if _, held := first.GetLabels()[s.Marks.name(marks.LabelHeld)]; held || !slices.Equal(first.GetFinalizers(),
		[]string{"example.com/other"}) {
		t.Errorf("after the operator's last finalizer was removed, the Secret has the finalizers %q and the labels %v",
			first.GetFinalizers(), first.GetLabels())
	}
	move(b, "missing", "")
	if err := s.Finalizers.Move(t.Context(), b, "", "missing"); !apierrors.IsNotFound(err) {
		t.Errorf("want no error for a Secret that does not exist, got %v", err)
	}
	if err := s.Finalizers.Move(t.Context(), owner("elsewhere"), "", "first"); err == nil {
		t.Error("a finalizer is added for a component of another cluster")
	}
}

func TestASecretThatIsBeingDeletedGetsNoFinalizer(t *testing.T) {
	c, s := newCluster(t)
	secret := c.addKubeconfig("first", "example.com/other")
	now := metav1.NewTime(start)
	secret.SetDeletionTimestamp(&now)
	for _, test := range []struct {
		err  error
		want string
	}{
		{s.Finalizers.Move(t.Context(), owner("a"), "", "first"), "name another Secret in the component"},
		{
			s.Finalizers.Hold(t.Context(), owner("a"), []string{"first"}),
			"name another Secret in the manifests of the externals",
		},
	} {
		p := passerror.Of(test.err)
		if p == nil || !p.Terminal || p.Reason != "ReferenceNotFound" || !strings.Contains(p.Message, test.want) {
			t.Errorf("the error must be terminal with the reason ReferenceNotFound and contain %q, got %v", test.want, test.err)
		}
	}
}

func TestFinalizersOfCredentials(t *testing.T) {
	c, s := newCluster(t)
	a := owner("a")
	both, dns, db := c.addKubeconfig("both"), c.addKubeconfig("dns"), c.addKubeconfig("db")
	held := func() []bool {
		return []bool{s.Finalizers.Has(both, a), s.Finalizers.Has(dns, a), s.Finalizers.Has(db, a)}
	}
	g := NewWithT(t)
	g.Expect(s.Finalizers.Move(t.Context(), a, "", "both")).To(Succeed())
	err := s.Finalizers.Hold(t.Context(), a, []string{"missing", "dns", "both", "dns", "db"})
	g.Expect(apierrors.IsNotFound(err)).To(BeTrue(), "%v", err)
	g.Expect(held()).To(Equal([]bool{true, true, true}))

	c.Requests = nil
	g.Expect(s.Finalizers.Hold(t.Context(), a, []string{"both", "dns", "dns"})).To(Succeed())
	g.Expect(c.Requests).To(Equal([]string{"get both", "get dns"}))

	g.Expect(s.Finalizers.Move(t.Context(), a, "both", "", "both", "dns")).To(Succeed())
	g.Expect(held()).To(Equal([]bool{true, true, true}))
	g.Expect(s.Finalizers.Release(t.Context(), a, []string{"both", "dns", "missing", "db"}, []string{"both", "db"})).
		To(Succeed())
	g.Expect(held()).To(Equal([]bool{true, false, true}))
	g.Expect(s.Finalizers.Release(t.Context(), a, []string{"both", "db"}, nil)).To(Succeed())
	g.Expect(held()).To(Equal([]bool{false, false, false}))
	g.Expect(both.GetLabels()).To(BeEmpty())

	g.Expect(s.Finalizers.Hold(t.Context(), owner("elsewhere"), []string{"dns"})).NotTo(Succeed())
	g.Expect(s.Finalizers.Hold(t.Context(), owner("elsewhere"), nil)).To(Succeed())
	g.Expect(held()).To(Equal([]bool{false, false, false}))
}
