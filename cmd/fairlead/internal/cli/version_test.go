package cli_test

import (
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/internal/leader"
)

var _ = Describe("version", onCluster(func() {
	// published returns the namespace of the Lease of an operator that publishes a version.
	published := func(ctx SpecContext, version string) string {
		GinkgoHelper()
		namespace := leaseIn(ctx, time.Now().Add(50*time.Second))
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: leader.Name}}
		base := client.MergeFrom(lease.DeepCopy())
		lease.Annotations = map[string]string{leader.AnnotationVersion: version}
		Expect(k8s.Patch(ctx, lease, base)).To(Succeed())
		return namespace
	}

	It("prints the version that the operator publishes, to every user", func(ctx SpecContext) {
		namespace := published(ctx, "v1.2.3")
		Expect(fairlead(ctx, "default", "version")).To(Equal(result{Out: "Client Version: dev\nOperator Version: v1.2.3\n"}))
		for _, format := range []string{"json", "yaml"} {
			r := fairlead(ctx, "default", "version", "-o", format)
			Expect(r.Code).To(Equal(0))
			Expect(r.Out).
				To(MatchYAML("{apiVersion: cli.fairlead.io/v1alpha1, kind: Versions, client: dev, operators: [{namespace: " +
					namespace + ", version: v1.2.3}]}"))
		}
		before := len(requests(ctx, namespace, "leases"))
		Expect(fairlead(ctx, "default", "version").Code).To(Equal(0))
		Expect(requests(ctx, namespace, "leases")).To(HaveLen(before + 1))
	})

	It("says that an older operator does not publish its version", func(ctx SpecContext) {
		leaseIn(ctx, time.Now().Add(50*time.Second))
		Expect(fairlead(ctx, "default", "version").Out).To(Equal(
			"Client Version: dev\nOperator Version: unknown, because it is too old to publish its version\n"))
	})

	It("prints the version of the program in any case, and why that of the operator is not known", func(ctx SpecContext) {
		operator := leaseIn(ctx, time.Now().Add(-3*time.Minute))
		r := fairlead(ctx, "default", "version")
		Expect(r.Code).To(Equal(1))
		Expect(r.Out).To(Equal("Client Version: dev\n"))
		Expect(r.Err).To(HavePrefix("fairlead: the version of the operator is not known: no operator has held the Lease " +
			operator + "/fairlead-operator for 3m"))
		GinkgoT().Setenv("FAIRLEAD_OPERATOR_NAMESPACE", newNamespace(ctx))
		r = fairlead(ctx, "default", "version")
		Expect(r.Code).To(Equal(3))
		Expect(r.Out).To(Equal("Client Version: dev\n"))
		Expect(r.Err).
			To(ContainSubstring("the version of the operator is not known: operator not checked: there is no Lease"))
		r = run(ctx, "fairlead", "--kubeconfig", "/none", "version")
		Expect(r.Code).To(Equal(3))
		Expect(r.Out).To(Equal("Client Version: dev\n"))
		Expect(strings.Count(r.Err, "\n")).To(Equal(1))
	})
}))
