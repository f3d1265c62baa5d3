package conformance_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/test/gadget"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

var _ = Describe("Crashes of an operator:", func() {
	const count = 12

	// recorded returns the UIDs in the inventory, by name.
	recorded := func(ctx context.Context, g *gadget.Gadget) map[string]string {
		GinkgoHelper()
		found := map[string]string{}
		for _, line := range current(ctx, g).Status.Inventory {
			if e, err := metav1alpha1.ParseInventoryEntry(line); err == nil {
				found[e.Name] = string(e.UID)
			}
		}
		return found
	}
	// labelled returns the UIDs of the ConfigMaps with the component's owner label, by name.
	labelled := func(ctx context.Context, operator, namespace string) map[string]string {
		GinkgoHelper()
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion("v1")
		list.SetKind("ConfigMapList")
		Expect(k8s.List(ctx, list, client.InNamespace(namespace), client.HasLabels{operator + "/owner-id"})).To(Succeed())
		found := map[string]string{}
		for _, o := range list.Items {
			found[o.GetName()] = string(o.GetUID())
		}
		return found
	}
	// crashed runs an operator until it crashes.
	crashed := func(ctx context.Context, operator string, c *crash) {
		GinkgoHelper()
		stop := runOperator(operator, operatorOptions{transport: c.wrap})
		Eventually(ctx, c.crashed.Load).Should(BeTrue())
		stop()
	}

	forEachPolicy(func(policy string) {
		for _, cut := range []struct {
			after      int64
			unanswered bool
		}{{0, false}, {1, true}, {5, false}, {count, true}} {
			It(fmt.Sprintf("an apply that crashed after %d writes (response lost: %t) is completed without a second write "+
				"of a dependent", cut.after, cut.unanswered), func(ctx SpecContext) {
				namespace, operator := newNamespace(ctx), newOperatorName()
				text := configMaps("cm", count, "a", fmt.Sprintf("%s/update-policy: %s", operator, policy))
				g := newGadget(ctx, namespace, "app", text, servedBy(operator))
				crashed(ctx, operator, &crash{
					counts: writesTo(namespace, "configmaps"), after: cut.after,
					unanswered: cut.unanswered,
				})
				Expect(current(ctx, g).Status.Inventory).To(HaveLen(count),
					"all dependents must be recorded before the first dependent is written")

				runOperator(operator, operatorOptions{})
				expectReady(ctx, g)
				written := writes(ctx, operator, namespace).Resource("configmaps")
				Expect(written.Code(201)).To(HaveLen(count))
				Expect(written).To(HaveLen(count), "%v", verbs(written))
				Expect(recorded(ctx, g)).To(Equal(labelled(ctx, operator, namespace)))
			})
		}
	})

	It("an operator that crashes before it writes the inventory has created no dependent", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		g := newGadget(ctx, namespace, "app", configMaps("cm", count, "a"), servedBy(operator))
		crashed(ctx, operator, &crash{counts: func(r *http.Request) bool {
			return r.Method != http.MethodGet && strings.HasSuffix(r.URL.Path, "/app/status")
		}})
		Expect(labelled(ctx, operator, namespace)).To(BeEmpty())
		runOperator(operator, operatorOptions{})
		expectReady(ctx, g)
	})

	It("an operator that crashes during an apply loses no created dependent, although the spec changes "+
		"before its restart", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		g := newGadget(ctx, namespace, "app", configMaps("cm", count, "a"), servedBy(operator))
		crashed(ctx, operator, &crash{counts: writesTo(namespace, "configmaps"), after: 5})
		changeManifests(ctx, g, configMaps("other", 2, "a"))
		runOperator(operator, operatorOptions{})
		expectReady(ctx, g)
		Expect(labelled(ctx, operator, namespace)).To(And(HaveLen(2), Equal(recorded(ctx, g))))
	})

	It("if the operator crashes during the deletion of a component, the next operator completes "+
		"the deletion", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		stop := runOperator(operator, operatorOptions{})
		g := newGadget(ctx, namespace, "app", configMaps("cm", count, "a"), servedBy(operator))
		expectReady(ctx, g)
		stop()
		remove(ctx, g)
		crashed(ctx, operator, &crash{counts: writesTo(namespace, "configmaps"), after: 5, unanswered: true})
		runOperator(operator, operatorOptions{})
		expectNotFound(ctx, g)
		Expect(labelled(ctx, operator, namespace)).To(BeEmpty())
	})

	It("after a crash without a change, the restarted operator writes nothing, and reads dependents "+
		"only by lists", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		stop := runOperator(operator, operatorOptions{})
		g := newGadget(ctx, namespace, "app", together(configMaps("cm", count, "a"), deployment("web"),
			namespaceManifest(namespace+"-sub")), servedBy(operator))
		expectReady(ctx, g)
		settle(ctx, operator)
		stop()
		mark, before := markAudit(ctx), passes(operator)
		runOperator(operator, operatorOptions{})
		Eventually(ctx, func() int { return passes(operator) }).Should(BeNumerically(">", before))
		settle(ctx, operator)
		Expect(verbs(requestsSince(ctx, mark, operator))).To(BeEmpty())
	})

	Describe("Damaged inventories:", func() {
		// start creates a component, waits until it is ready, and returns a position in the audit log.
		start := func(ctx context.Context) (*gadget.Gadget, string, auditMark) {
			GinkgoHelper()
			namespace, operator := newNamespace(ctx), newOperatorName()
			runOperator(operator, operatorOptions{})
			g := newGadget(ctx, namespace, "app", together(configMaps("cm", count, "a"), deployment("web")), servedBy(operator))
			expectReady(ctx, g)
			settle(ctx, operator)
			return g, operator, markAudit(ctx)
		}
		writesSince := func(ctx context.Context, mark auditMark, operator, namespace string) testcluster.Events {
			GinkgoHelper()
			return inNamespace(requestsSince(ctx, mark, operator), namespace).Writes().Resource("configmaps", "deployments")
		}

		It("an emptied status is rebuilt without writing or pruning a dependent", func(ctx SpecContext) {
			g, operator, mark := start(ctx)
			before := recorded(ctx, g)
			emptied := current(ctx, g)
			emptied.Status = gadget.GadgetStatus{}
			Expect(k8s.Status().Update(ctx, emptied)).To(Succeed())
			Eventually(ctx, func() map[string]string { return recorded(ctx, g) }).Should(Equal(before))
			expectReady(ctx, g)
			settle(ctx, operator)
			Expect(verbs(writesSince(ctx, mark, operator, g.Namespace))).To(BeEmpty())
		})

		It("dependents that are no longer rendered are found after the status was emptied", func(ctx SpecContext) {
			namespace, operator := newNamespace(ctx), newOperatorName()
			stop := runOperator(operator, operatorOptions{})
			g := newGadget(ctx, namespace, "app", configMaps("cm", count, "a"), servedBy(operator))
			expectReady(ctx, g)
			stop()
			emptied := current(ctx, g)
			emptied.Status = gadget.GadgetStatus{}
			Expect(k8s.Status().Update(ctx, emptied)).To(Succeed())
			changeManifests(ctx, g, configMaps("cm", 2, "a"))
			runOperator(operator, operatorOptions{})
			expectReady(ctx, g)
			Eventually(ctx, func() map[string]string { return labelled(ctx, operator, namespace) }).Should(HaveLen(2))
		})

		It("while an API group does not respond, a lost inventory is not rebuilt, so that no dependent of this "+
			"group is lost", func(ctx SpecContext) {
			namespace, operator, broken := newNamespace(ctx), newOperatorName(), newGroup()
			stop := runOperator(operator, operatorOptions{})
			g := newGadget(ctx, namespace, "app", configMaps("cm", count, "a"), servedBy(operator))
			expectReady(ctx, g)
			stop()
			service := create(ctx, fmt.Sprintf(`apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.%[1]s}
spec:
  group: %[1]s
  version: v1
  groupPriorityMinimum: 10
  versionPriority: 10
  insecureSkipTLSVerify: true
  service: {namespace: %[2]s, name: nobody}`, broken, namespace))[0]
			DeferCleanup(func(ctx SpecContext) { Expect(client.IgnoreNotFound(k8s.Delete(ctx, service))).To(Succeed()) })
			discoveryClient := discovery.NewDiscoveryClientForConfigOrDie(cluster.Config())
			Eventually(ctx, func() error { _, err := discoveryClient.ServerPreferredResources(); return err }).
				Should(MatchError(ContainSubstring(broken)))
			emptied := current(ctx, g)
			emptied.Status = gadget.GadgetStatus{}
			Expect(k8s.Status().Update(ctx, emptied)).To(Succeed())
			remove(ctx, g)
			runOperator(operator, operatorOptions{})
			expectCondition(ctx, g, metav1alpha1.ConditionReady, And(ContainSubstring("cannot be rebuilt"),
				ContainSubstring(broken)))
			Expect(labelled(ctx, operator, namespace)).To(HaveLen(count))
			remove(ctx, service)
			expectNotFound(ctx, g)
			Expect(labelled(ctx, operator, namespace)).To(BeEmpty())
		})

		It("all dependents are deleted although the status was emptied before the deletion", func(ctx SpecContext) {
			namespace, operator := newNamespace(ctx), newOperatorName()
			stop := runOperator(operator, operatorOptions{})
			g := newGadget(ctx, namespace, "app", configMaps("cm", count, "a"), servedBy(operator))
			expectReady(ctx, g)
			stop()
			emptied := current(ctx, g)
			emptied.Status = gadget.GadgetStatus{}
			Expect(k8s.Status().Update(ctx, emptied)).To(Succeed())
			remove(ctx, g)
			runOperator(operator, operatorOptions{})
			expectNotFound(ctx, g)
			Expect(labelled(ctx, operator, namespace)).To(BeEmpty())
		})

		DescribeTable("after another client edited the inventory in the status, the inventory is rebuilt without a write "+
			"to dependents", func(ctx SpecContext, edit func([]string) []string) {
			g, operator, mark := start(ctx)
			before := recorded(ctx, g)
			edited := current(ctx, g)
			edited.Status.Inventory = edit(edited.Status.Inventory)
			Expect(k8s.Status().Update(ctx, edited)).To(Succeed())
			requestPass(ctx, g, operator)
			Eventually(ctx, func() map[string]string { return recorded(ctx, g) }).Should(Equal(before))
			expectReady(ctx, g)
			settle(ctx, operator)
			Expect(verbs(writesSince(ctx, mark, operator, g.Namespace))).To(BeEmpty())
		},
			Entry("if entries were removed", func(lines []string) []string { return lines[:3] }),
			Entry("if all entries were removed", func([]string) []string { return nil }),
			Entry("if an entry was made unreadable", func(lines []string) []string { return append(lines[1:], "rubbish") }),
			Entry("if digests were changed", func(lines []string) []string {
				for i := range lines {
					lines[i] = strings.NewReplacer(" d=", " d=0", " f=", " f=0").Replace(lines[i])
				}
				return lines
			}),
			Entry("if UIDs were changed", func(lines []string) []string {
				for i := range lines {
					lines[i] = strings.Replace(lines[i], " u=", " u=0", 1)
				}
				return lines
			}),
			Entry("if an object of another owner was added", func(lines []string) []string {
				return append(lines, strings.Replace(lines[0], lines[0][:strings.Index(lines[0], " ")],
					"/v1/ConfigMap/kube-system/kube-root-ca.crt", 1))
			}),
		)
	})

	It("an operator does not overwrite the status that another operator of the same name wrote", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		g := newGadget(ctx, namespace, "app", configMaps("cm", 2, "a"), servedBy(operator))
		var disturbed bool
		runOperator(operator, operatorOptions{transport: func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				if !disturbed && r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "/app/status") {
					disturbed = true
					other := &gadget.Gadget{}
					if err := k8s.Get(r.Context(), client.ObjectKeyFromObject(g), other); err != nil {
						return nil, err
					}
					other.Status.Waiting = []metav1alpha1.DependentReport{{Dependent: "other", Reason: "Other"}}
					if err := k8s.Status().Update(r.Context(), other); err != nil {
						return nil, err
					}
				}
				return next.RoundTrip(r)
			})
		}})
		expectReady(ctx, g)
		written := writes(ctx, operator, namespace)
		Expect(written.Code(409)).To(HaveLen(1), "%v", verbs(written))
		Expect(succeeded(written.Resource("configmaps"))).To(HaveLen(2), "%v", verbs(written))
	})
})
