package operator

import (
	"context"
	"errors"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/digests"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

// answers is a reader of a cluster that contains only the operator's Deployment.
type answers struct {
	owner, policy, update string
	err                   error
}

func (a answers) keeping(policy string) answers {
	a.policy = policy
	return a
}

func (a answers) updatedBy(policy string) answers {
	a.update = policy
	return a
}

func (a answers) Get(_ context.Context, _ client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	obj.SetAnnotations(map[string]string{
		"fairlead.io/owner-id": a.owner, "fairlead.io/delete-policy": a.policy,
		"fairlead.io/update-policy": a.update,
	})
	return a.err
}

var _ = Describe("The operator's own Deployment", func() {
	own := types.NamespacedName{Namespace: "system", Name: "operator"}
	holds := func(name string, policy metav1alpha1.DeletePolicy) metav1alpha1.Status {
		entry := metav1alpha1.InventoryEntry{
			Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "system",
			Name: name, UID: "u1", DeletePolicy: policy,
		}
		lines := []string{entry.String()}
		return metav1alpha1.Status{
			Reconciler: ReconcilerName, Inventory: lines,
			InventoryDigest: must(digests.Of(lines)),
		}
	}
	edited := func(status metav1alpha1.Status) metav1alpha1.Status {
		status.Inventory = holds("other", "").Inventory
		return status
	}
	doubted := func(status metav1alpha1.Status) metav1alpha1.Status {
		status.RecordDigest = `doubt:1a2b "backup-tool" wrote it`
		return status
	}
	inSecrets := metav1alpha1.Status{
		Reconciler:      ReconcilerName,
		InventoryRecord: &metav1alpha1.InventoryRecord{Namespace: "prod", Name: "inventory-a-b", Parts: 1},
	}
	elsewhere := func(status metav1alpha1.Status) metav1alpha1.Status {
		status.TargetCluster = "another"
		return status
	}
	of := func(name string) answers {
		return answers{owner: "cluster/fairlead.io/fairlead.io/Component/prod/" + name}
	}
	notFound := apierrors.NewNotFound(schema.GroupResource{Resource: "deployments"}, "operator")
	withStatus := func(status metav1alpha1.Status) *v1alpha1.Component {
		c := newComponent(v1alpha1.ComponentSpec{})
		c.Namespace, c.Name, c.Status, c.DeletionTimestamp = "prod", "shop", status, new(metav1.Now())
		return c
	}

	DescribeTable("is not deleted with its component:",
		func(status metav1alpha1.Status, reader answers, want string) {
			err := self{reader: reader, deployment: own}.refuseEnd(context.Background(), withStatus(status), nil)
			if want == "" {
				Expect(err).NotTo(HaveOccurred())
				return
			}
			Expect(err).To(MatchError(ContainSubstring(want)))
		},
		Entry("the deletion is refused", holds("operator", ""), answers{},
			"it has the dependent Deployment system/operator, in which the operator itself runs"),
		Entry("the deletion is allowed if the Deployment is orphaned",
			holds("operator", metav1alpha1.DeleteOrphanOnDelete), answers{}, ""),
		Entry("the deletion is refused if the Deployment is only orphaned when it is pruned",
			holds("operator", metav1alpha1.DeleteOrphanOnApply), answers{},
			"it has the dependent Deployment"),
		Entry("the deletion of another component is allowed", holds("web", ""), answers{}, ""),
		Entry("the deletion is allowed if the Deployment is in another cluster",
			elsewhere(holds("operator", "")), answers{}, ""),
		Entry("without status, it is refused by the owner annotation", metav1alpha1.Status{}, of("shop"),
			"it has the dependent Deployment"),
		Entry("without status, it is allowed by the annotation orphan", metav1alpha1.Status{}, of("shop").keeping("orphan"),
			""),
		Entry("without status, it is allowed for another component", metav1alpha1.Status{}, of("web"), ""),
		Entry("with an edited inventory, it is refused by the owner annotation", edited(holds("operator", "")), of("shop"),
			"it has the dependent Deployment"),
		Entry("with a removed inventory, it is refused by the owner annotation",
			metav1alpha1.Status{Reconciler: ReconcilerName, InventoryDigest: "a"}, of("shop"),
			"it has the dependent Deployment"),
		Entry("with a record that another client wrote, it is refused by the owner annotation", doubted(holds("web", "")),
			of("shop"), "it has the dependent Deployment"),
		Entry("the delete policy in a record that another client wrote is not used",
			doubted(holds("operator", metav1alpha1.DeleteOrphan)), of("shop"), "it has the dependent Deployment"),
		Entry("the Deployment is not read for a component that never had dependents",
			metav1alpha1.Status{Reconciler: ReconcilerName},
			answers{err: errors.New("asked")}, ""),
		Entry("with an inventory in Secrets, it is refused by the owner annotation", inSecrets, of("shop"),
			"it has the dependent Deployment"),
		Entry("with an inventory in Secrets, it is allowed for another component", inSecrets, of("web"), ""),
		Entry("it is allowed if the Deployment does not exist", inSecrets, answers{err: notFound}, ""),
		Entry("it is refused if the Deployment cannot be read", inSecrets, answers{err: errors.New("broken")},
			"it is unknown whether Deployment system/operator, in which the operator itself runs, is a dependent"),
	)

	render := func(c *v1alpha1.Component, deployment string, annotations map[string]string) error {
		g := generator.GeneratorFunc(func(context.Context, generator.Request) ([]client.Object, error) {
			object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps/v1", "kind": "Deployment"}}
			object.SetName(deployment)
			object.SetAnnotations(annotations)
			return []client.Object{object}, nil
		})
		_, err := staying{Generator: g, self: self{reader: answers{}, deployment: own}}.Generate(context.Background(),
			generator.Request{
				Namespace: "system", Name: "shop", Component: c,
			})
		return err
	}
	It("is not pruned by its component", func() {
		Expect(render(withStatus(holds("operator", "")), "other", nil)).
			To(MatchError(ContainSubstring("the rendering lacks Deployment system/operator")))
	})
	It("is not replaced by a Deployment that exists only during the deletion of the component", func() {
		for phases, matches := range map[string]OmegaMatcher{
			"pre-delete":             MatchError(ContainSubstring("the rendering lacks Deployment")),
			"pre-delete,post-delete": MatchError(ContainSubstring("the rendering lacks Deployment")),
			"pre-delete, apply":      Succeed(),
		} {
			Expect(render(withStatus(holds("operator", "")), "operator", map[string]string{"fairlead.io/phase": phases})).
				To(matches, phases)
		}
	})
	It("is updated by its component, and orphaned by its delete policy", func() {
		Expect(render(withStatus(holds("operator", "")), "operator", nil)).To(Succeed())
		Expect(render(withStatus(holds("operator", metav1alpha1.DeleteOrphanOnApply)), "other", nil)).To(Succeed())
	})
	It("does not affect other components", func() {
		Expect(render(withStatus(holds("web", "")), "other", nil)).To(Succeed())
	})
	It("does not change the version of the generator", func() {
		g := must(NewGenerator(RenderOptions{}))
		Expect(staying{Generator: g}.Version()).To(Equal(renderingVersion))
	})

	withPolicy := func(policy metav1alpha1.UpdatePolicy) *v1alpha1.Component {
		c := withStatus(metav1alpha1.Status{})
		c.DeletionTimestamp, c.Spec.UpdatePolicy = nil, policy
		return c
	}
	remote := func(c *v1alpha1.Component) *v1alpha1.Component {
		c.Spec.Target = &metav1alpha1.KubeConfigSource{}
		return c
	}
	const inAnnotation, inSpec = "set another policy in its annotation fairlead.io/update-policy",
		"set another policy in spec.updatePolicy, at least until the Deployment has the annotation"

	DescribeTable("is not deleted because of its settings:",
		func(c *v1alpha1.Component, deployment string, annotations map[string]string, want string) {
			err := render(c, deployment, annotations)
			if want == "" {
				Expect(err).NotTo(HaveOccurred())
				return
			}
			Expect(err).To(MatchError(ContainSubstring(want)))
		},
		Entry("its update policy recreate is refused", withPolicy(""), "operator",
			map[string]string{"fairlead.io/update-policy": "recreate"}, inAnnotation),
		Entry("the component's update policy recreate is refused", withPolicy("recreate"), "operator", nil, inSpec),
		Entry("its update policy default is refused if the component has recreate", withPolicy("recreate"), "operator",
			map[string]string{"fairlead.io/update-policy": "default"}, inSpec),
		Entry("another update policy than the component's is allowed", withPolicy("recreate"), "operator",
			map[string]string{"fairlead.io/update-policy": "replace"}, ""),
		Entry("a purge order is refused", withPolicy(""), "operator", map[string]string{"fairlead.io/purge-order": "1"},
			"the rendering sets the annotation fairlead.io/purge-order on Deployment system/operator"),
		Entry("other Deployments may have these settings",
			withPolicy("recreate"), "web", map[string]string{"fairlead.io/purge-order": "1"},
			""),
		Entry("a Deployment in another cluster may have these settings", remote(withPolicy("recreate")), "operator",
			map[string]string{"fairlead.io/purge-order": "1"}, ""),
	)

	DescribeTable("is not deleted because of a policy that was set after the rendering:",
		func(c *v1alpha1.Component, reader answers, want string) {
			err := self{reader: reader, deployment: own}.refuseRecreation(context.Background(), c, nil)
			if want == "" {
				Expect(err).NotTo(HaveOccurred())
				return
			}
			Expect(err).To(MatchError(ContainSubstring(want)))
		},
		Entry("recreate is refused", withPolicy("recreate"), of("shop"), inSpec),
		Entry("recreate is allowed if the Deployment has its own policy",
			withPolicy("recreate"), of("shop").updatedBy("ssa-override"), ""),
		Entry("recreate is allowed for another component", withPolicy("recreate"), of("web"), ""),
		Entry("recreate is allowed for another cluster", remote(withPolicy("recreate")), of("shop"), ""),
		Entry("the Deployment is not read for another policy", withPolicy("replace"), answers{err: errors.New("asked")}, ""),
		Entry("recreate is allowed without the Deployment", withPolicy("recreate"), answers{err: notFound}, ""),
		Entry("an unreadable Deployment is an error", withPolicy("recreate"), answers{err: errors.New("broken")},
			"is a dependent: broken"),
	)
	It("stalls its component for such a policy until the policy is changed", func() {
		err := self{reader: of("shop"), deployment: own}.refuseRecreation(context.Background(), withPolicy("recreate"), nil)
		Expect(errors.Is(err, reconcile.TerminalError(nil))).To(BeTrue())
	})
})
