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
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// answers is a cluster that has one Deployment.
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
			InventoryDigest: must(manifests.Digest(lines)),
		}
	}
	edited := func(status metav1alpha1.Status) metav1alpha1.Status {
		status.Inventory = holds("other", "").Inventory
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

	DescribeTable("is not deleted with the component that holds it",
		func(status metav1alpha1.Status, reader answers, want string) {
			err := self{reader: reader, deployment: own}.refuseEnd(context.Background(), withStatus(status), nil)
			if want == "" {
				Expect(err).NotTo(HaveOccurred())
				return
			}
			Expect(err).To(MatchError(ContainSubstring(want)))
		},
		Entry("which is refused", holds("operator", ""), answers{},
			"it has the dependent Deployment system/operator, in which the operator itself runs"),
		Entry("unless it is released with it", holds("operator", metav1alpha1.DeleteOrphanOnDelete), answers{}, ""),
		Entry("also where it would be released in an upgrade", holds("operator", metav1alpha1.DeleteOrphanOnApply), answers{},
			"it has the dependent Deployment"),
		Entry("and any other component is", holds("web", ""), answers{}, ""),
		Entry("also one with such a Deployment in another cluster", elsewhere(holds("operator", "")), answers{}, ""),
		Entry("where the status is lost, and the Deployment says so", metav1alpha1.Status{}, of("shop"),
			"it has the dependent Deployment"),
		Entry("unless it is released with it, which the Deployment says", metav1alpha1.Status{}, of("shop").keeping("orphan"),
			""),
		Entry("and another is where its status is lost", metav1alpha1.Status{}, of("web"), ""),
		Entry("where the inventory was edited, and the Deployment says so", edited(holds("operator", "")), of("shop"),
			"it has the dependent Deployment"),
		Entry("where the inventory was removed, and the Deployment says so",
			metav1alpha1.Status{Reconciler: ReconcilerName, InventoryDigest: "a"}, of("shop"),
			"it has the dependent Deployment"),
		Entry("and no component is asked for that never had any", metav1alpha1.Status{Reconciler: ReconcilerName},
			answers{err: errors.New("asked")}, ""),
		Entry("where the inventory is in Secrets, and the Deployment says so", inSecrets, of("shop"),
			"it has the dependent Deployment"),
		Entry("and any other is where its inventory is in Secrets", inSecrets, of("web"), ""),
		Entry("also where there is no such Deployment", inSecrets, answers{err: notFound}, ""),
		Entry("and nothing is where the Deployment cannot be read then", inSecrets, answers{err: errors.New("broken")},
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
	It("is not pruned by the component that holds it", func() {
		Expect(render(withStatus(holds("operator", "")), "other", nil)).
			To(MatchError(ContainSubstring("the rendering lacks Deployment system/operator")))
	})
	It("is not pruned for one that is only there while the component is deleted", func() {
		for phases, matches := range map[string]OmegaMatcher{
			"pre-delete":             MatchError(ContainSubstring("the rendering lacks Deployment")),
			"pre-delete,post-delete": MatchError(ContainSubstring("the rendering lacks Deployment")),
			"pre-delete, apply":      Succeed(),
		} {
			Expect(render(withStatus(holds("operator", "")), "operator", map[string]string{"fairlead.io/phase": phases})).
				To(matches, phases)
		}
	})
	It("is updated by it, and released where that is its policy", func() {
		Expect(render(withStatus(holds("operator", "")), "operator", nil)).To(Succeed())
		Expect(render(withStatus(holds("operator", metav1alpha1.DeleteOrphanOnApply)), "other", nil)).To(Succeed())
	})
	It("does not matter to others", func() {
		Expect(render(withStatus(holds("web", "")), "other", nil)).To(Succeed())
	})
	It("changes nothing about the version of what is rendered", func() {
		g := must(NewGenerator(RenderOptions{}))
		Expect(staying{Generator: g}.Version()).To(Equal(renderingVersion))
	})

	withPolicy := func(policy metav1alpha1.UpdatePolicy) *v1alpha1.Component {
		c := withStatus(metav1alpha1.Status{})
		c.DeletionTimestamp, c.Spec.UpdatePolicy = nil, policy
		return c
	}
	remote := func(c *v1alpha1.Component) *v1alpha1.Component {
		c.Spec.KubeConfig = &v1alpha1.KubeConfig{}
		return c
	}
	const inAnnotation, inSpec = "set another policy in its annotation fairlead.io/update-policy",
		"set another policy in spec.updatePolicy, at least until the Deployment has the annotation"

	DescribeTable("is not deleted by its own settings",
		func(c *v1alpha1.Component, deployment string, annotations map[string]string, want string) {
			err := render(c, deployment, annotations)
			if want == "" {
				Expect(err).NotTo(HaveOccurred())
				return
			}
			Expect(err).To(MatchError(ContainSubstring(want)))
		},
		Entry("neither by its update policy", withPolicy(""), "operator",
			map[string]string{"fairlead.io/update-policy": "recreate"}, inAnnotation),
		Entry("nor by that of the component", withPolicy("recreate"), "operator", nil, inSpec),
		Entry("also where it leaves that to the component", withPolicy("recreate"), "operator",
			map[string]string{"fairlead.io/update-policy": "default"}, inSpec),
		Entry("but it may have another than the component", withPolicy("recreate"), "operator",
			map[string]string{"fairlead.io/update-policy": "replace"}, ""),
		Entry("nor by a purge order", withPolicy(""), "operator", map[string]string{"fairlead.io/purge-order": "1"},
			"the rendering has the annotation fairlead.io/purge-order on Deployment system/operator"),
		Entry("and others may have them", withPolicy("recreate"), "web", map[string]string{"fairlead.io/purge-order": "1"},
			""),
		Entry("also one in another cluster", remote(withPolicy("recreate")), "operator",
			map[string]string{"fairlead.io/purge-order": "1"}, ""),
	)

	DescribeTable("is not deleted by a policy that comes after the rendering",
		func(c *v1alpha1.Component, reader answers, want string) {
			err := self{reader: reader, deployment: own}.refuseRecreation(context.Background(), c, nil)
			if want == "" {
				Expect(err).NotTo(HaveOccurred())
				return
			}
			Expect(err).To(MatchError(ContainSubstring(want)))
		},
		Entry("which is refused", withPolicy("recreate"), of("shop"), inSpec),
		Entry("unless it has its own", withPolicy("recreate"), of("shop").updatedBy("ssa-override"), ""),
		Entry("and another component may have it", withPolicy("recreate"), of("web"), ""),
		Entry("also for another cluster", remote(withPolicy("recreate")), of("shop"), ""),
		Entry("and nobody is asked under another policy", withPolicy("replace"), answers{err: errors.New("asked")}, ""),
		Entry("also where there is no such Deployment", withPolicy("recreate"), answers{err: notFound}, ""),
		Entry("and waits where the Deployment cannot be read", withPolicy("recreate"), answers{err: errors.New("broken")},
			"is a dependent: broken"),
	)
	It("is Stalled for such a policy until somebody changes it", func() {
		err := self{reader: of("shop"), deployment: own}.refuseRecreation(context.Background(), withPolicy("recreate"), nil)
		Expect(errors.Is(err, reconcile.TerminalError(nil))).To(BeTrue())
	})
})
