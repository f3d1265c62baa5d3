package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/test/aggregate"
	"github.com/fairlead-io/fairlead/test/gadget"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

// newAPIService returns an APIService with the given name and without a spec.
func newAPIService(name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"})
	o.SetName(name)
	return o
}

var _ = Describe("Aggregated APIs in a component:", func() {
	var namespace, elsewhere string
	var server *aggregate.Server
	var g *gadget.Gadget
	var mark auditMark

	BeforeEach(func(ctx SpecContext) {
		namespace, elsewhere = newNamespace(ctx), newNamespace(ctx)
		server = aggregate.Start(newGroup())
		DeferCleanup(server.Close)
		g = newGadget(ctx, namespace, "app", together(
			server.Service(), server.Registration(namespace), server.Thing(namespace, "own"), configMap("settings", "a")),
			retrySoon)
		// A failed spec must not leave an API that does not respond, because discovery would fail in all other specs.
		DeferCleanup(func(ctx SpecContext) { _ = k8s.Delete(ctx, newAPIService(server.APIService())) })
		expectReady(ctx, g)
		mark = markAudit(ctx)
	})
	untouched := func(ctx context.Context) {
		GinkgoHelper()
		Expect(verbs(inNamespace(requestsSince(ctx, mark, operatorName), namespace).Verb("delete"))).To(BeEmpty())
		mustGet(ctx, "apiregistration.k8s.io/v1", "APIService", "", server.APIService())
	}

	It("instances of an aggregated API in the component are applied last and deleted first", func(ctx SpecContext) {
		created := succeeded(inNamespace(requestsSince(ctx, 0, operatorName), namespace).Resource("configmaps",
			"things").Writes())
		Expect(verbs(created)).To(Equal([]string{"patch configmaps 201", "patch things 201"}))
		remove(ctx, g)
		expectNotFound(ctx, g)
		deleted := requestsSince(ctx, mark, operatorName).Verb("delete").Where(func(e testcluster.Event) bool {
			return e.Namespace == namespace || e.Name == server.APIService()
		})
		Expect(verbs(deleted)[:2]).To(Equal([]string{"delete things 200", "delete apiservices 200"}))
	})

	It("the APIService of an aggregated API is not deleted with its component while foreign instances exist in "+
		"any namespace", func(ctx SpecContext) {
		foreign := create(ctx, server.Thing(elsewhere, "theirs"))
		remove(ctx, g)
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(
			HavePrefix("True ForeignInstances"), ContainSubstring(elsewhere+"/theirs"), Not(ContainSubstring("own"))))
		untouched(ctx)
		remove(ctx, foreign[0])
		expectNotFound(ctx, g)
	})

	It("a preview sends no dry run to an aggregated API, because the API might execute "+
		"it as a write", func(ctx SpecContext) {
		forecast, err := foresee(ctx, current(ctx, g), together(server.Service(), server.Registration(namespace),
			server.Thing(namespace, "own"), server.Thing(namespace, "new"), configMap("settings", "b")))
		Expect(err).NotTo(HaveOccurred())
		Expect(effects(forecast)).To(Equal([]string{"Update settings", "Create new"}))
		Expect(forecast.Stuck()).To(BeFalse())
		Expect(forecast.Steps[0].Unchecked).To(BeEmpty())
		Expect(forecast.Steps[1].Unchecked).To(HavePrefix("APIService " + server.APIService() + " does not support dry run"))
		_, err = get(ctx, server.GroupVersion(), "Thing", namespace, "new")
		Expect(err).To(MatchError(apierrors.IsNotFound, "IsNotFound"))
		remove(ctx, g)
		expectNotFound(ctx, g)
	})

	It("an object of an aggregated API that can only be read is refused before the first write", func(ctx SpecContext) {
		reading := strings.Replace(server.Thing(namespace, "bad"), "kind: Thing", "kind: Reading", 1)
		changeManifests(ctx, g, together(server.Service(), server.Registration(namespace), server.Thing(namespace, "own"),
			configMap("settings", "b"), reading))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(HavePrefix(invalidSet), ContainSubstring("/bad ("),
			ContainSubstring("does not support patch, but only get, list")))
		Expect(mustGet(ctx, "v1", "ConfigMap", namespace, "settings").Object["data"]).To(HaveKeyWithValue("value", "a"))
		remove(ctx, g)
		expectNotFound(ctx, g)
	})

	It("an update under the policy replace sends no dry run to an aggregated API that keeps no "+
		"managed fields", func(ctx SpecContext) {
		thing := func(label string) string {
			return strings.Replace(server.Thing(namespace, "own"), "name: own",
				"name: own, labels: {label: "+label+"}, annotations: {"+updatePolicy("replace")+"}", 1)
		}
		with := func(label string) string {
			return together(server.Service(), server.Registration(namespace), thing(label), configMap("settings", "a"))
		}
		changeManifests(ctx, g, with("a"))
		expectReady(ctx, g)
		Expect(mustGet(ctx, server.GroupVersion(), "Thing", namespace, "own").GetLabels()).To(HaveKeyWithValue("label", "a"))
		written := verbs(inNamespace(requestsSince(ctx, mark, operatorName), namespace).Resource("things").Writes())
		Expect(written).To(And(Not(BeEmpty()), HaveEach("update things 201")))
		remove(ctx, g)
		expectNotFound(ctx, g)
	})

	It("the APIService of an aggregated API is not pruned while foreign instances exist", func(ctx SpecContext) {
		foreign := create(ctx, server.Thing(elsewhere, "theirs"))
		changeManifests(ctx, g, together(server.Service(), configMap("settings", "a")))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(HavePrefix("True ForeignInstances"),
			ContainSubstring(elsewhere+"/theirs")))
		untouched(ctx)
		remove(ctx, foreign[0])
		expectReady(ctx, g)
		_, err := get(ctx, "apiregistration.k8s.io/v1", "APIService", "", server.APIService())
		Expect(err).To(MatchError(ContainSubstring("not found")))
	})

	It("the APIService of an aggregated API is not deleted while the API does not respond, and is deleted when the API "+
		"responds again", func(ctx SpecContext) {
		server.Down(true)
		remove(ctx, g)
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(
			HavePrefix("True ForeignInstances"), ContainSubstring("does not answer"),
			ContainSubstring("make it available; if you delete it, nothing protects what its API server stored")))
		untouched(ctx)
		server.Down(false)
		expectNotFound(ctx, g)
	})

	It("the deletion of a component continues when the APIService of an API that does not respond is "+
		"deleted by hand", func(ctx SpecContext) {
		server.Down(true)
		remove(ctx, g)
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, ContainSubstring("does not answer"))
		Expect(k8s.Delete(ctx, newAPIService(server.APIService()))).To(Succeed())
		expectNotFound(ctx, g)
	})
})

var _ = Describe("Manifests that are rendered only while an aggregated API is served:", func() {
	var namespace, operator, gated string
	var server *aggregate.Server
	// answers returns a function that reports whether discovery finds the group of the aggregated API. The function
	// changes the APIService, because the API server then checks the API immediately.
	answers := func(ctx context.Context) func() (bool, error) {
		return func() (bool, error) {
			patch(ctx, newAPIService(server.APIService()), fmt.Sprintf(`{"metadata":{"annotations":{"look":"%d"}}}`,
				time.Now().UnixNano()))
			about, err := discovery.NewDiscoveryClientForConfig(cluster.Config())
			if err != nil {
				return false, err
			}
			_, lists, err := about.ServerGroupsAndResources()
			if failed := (*discovery.ErrGroupDiscoveryFailed)(nil); err != nil && !errors.As(err, &failed) {
				return false, err
			}
			for _, list := range lists {
				if list.GroupVersion == server.GroupVersion() {
					return true, nil
				}
			}
			return false, nil
		}
	}
	BeforeEach(func(ctx SpecContext) {
		namespace, operator = newNamespace(ctx), newOperatorName()
		server = aggregate.Start(newGroup())
		DeferCleanup(server.Close)
		service := strings.Replace(server.Service(), "{name:", "{namespace: "+namespace+", name:", 1)
		for _, o := range create(ctx, together(service, server.Registration(namespace))) {
			DeferCleanup(func(ctx SpecContext) { _ = k8s.Delete(ctx, o) })
		}
		Eventually(ctx, answers(ctx)).Should(BeTrue())
		gated = "\n---\n{{ if .Capabilities.APIVersions.Has `" + server.GroupVersion() + "/Thing` }}\n" + configMap("gated",
			"a") + "\n{{ end }}\n"
	})

	It("if an aggregated API does not respond while an operator starts, dependents that are rendered only with this API "+
		"stay, and everything is applied when the API responds again", func(ctx SpecContext) {
		stop := runOperator(operator, operatorOptions{generate: &chart{}})
		g := newGadget(ctx, namespace, "app", configMap("always", "a")+gated, servedBy(operator))
		expectReady(ctx, g)
		mark, applied := markAudit(ctx), content(ctx, "ConfigMap", namespace, "gated")
		stop()
		server.Down(true)
		Eventually(ctx, answers(ctx)).Should(BeFalse())

		runOperator(operator, operatorOptions{generate: &chart{}})
		withheld := And(HavePrefix("False Retrying"), ContainSubstring(server.GroupVersion()),
			ContainSubstring("APIService "+server.APIService()))
		expectCondition(ctx, g, metav1alpha1.ConditionReady, withheld)
		changeManifests(ctx, g, configMap("always", "b")+gated)
		expectCondition(ctx, g, metav1alpha1.ConditionReady, withheld)
		Expect(content(ctx, "ConfigMap", namespace, "gated")).To(Equal(applied))

		server.Down(false)
		Eventually(ctx, answers(ctx)).Should(BeTrue())
		expectReady(ctx, g)
		Expect(content(ctx, "ConfigMap", namespace, "always")).To(HaveKeyWithValue("value", "b"))
		Expect(story(ctx, mark, operator, namespace)).To(Equal([]string{"patch configmaps/always"}))
	})

	It("dependents that are rendered only while an aggregated API is served are pruned when its "+
		"APIService is deleted", func(ctx SpecContext) {
		stop := runOperator(operator, operatorOptions{generate: &chart{}})
		g := newGadget(ctx, namespace, "app", configMap("always", "a")+gated, servedBy(operator))
		expectReady(ctx, g)
		stop()
		server.Down(true)
		Eventually(ctx, answers(ctx)).Should(BeFalse())
		runOperator(operator, operatorOptions{generate: &chart{}})
		expectCondition(ctx, g, metav1alpha1.ConditionReady, "False Retrying")
		Expect(k8s.Delete(ctx, newAPIService(server.APIService()))).To(Succeed())
		expectReady(ctx, g)
		_, err := get(ctx, "v1", "ConfigMap", namespace, "gated")
		Expect(err).To(MatchError(ContainSubstring("not found")))
	})
})
