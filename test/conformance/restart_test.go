package conformance_test

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/test/gadget"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

var _ = Describe("Restarts of an operator:", func() {
	const count = 12
	var namespace, operator string
	BeforeEach(func(ctx SpecContext) { namespace, operator = newNamespace(ctx), newOperatorName() })

	// next stops an operator, calls meanwhile, and starts the next operator. It returns a function that waits until that
	// operator has made a pass for each gadget, and returns its requests. Leases, events and discovery are excluded.
	next := func(ctx context.Context, stop func(), gadgets int, o operatorOptions,
		meanwhile func(),
	) func() testcluster.Events {
		GinkgoHelper()
		settle(ctx, operator)
		stop()
		meanwhile()
		mark, before := markAudit(ctx), passes(operator)
		runOperator(operator, o)
		return func() testcluster.Events {
			GinkgoHelper()
			Eventually(ctx, func() int { return passes(operator) - before }).Should(BeNumerically(">=", gadgets))
			settle(ctx, operator)
			return auditEvents(ctx)[mark:].UserAgent(userAgent(operator)).Where(func(e testcluster.Event) bool {
				return e.Resource != "" && e.Resource != "leases" && e.Resource != "events"
			})
		}
	}
	restart := func(ctx context.Context, stop func(), gadgets int, o operatorOptions,
		meanwhile func(),
	) testcluster.Events {
		GinkgoHelper()
		return next(ctx, stop, gadgets, o, meanwhile)()
	}
	nothing := func() {}
	// besides returns the requests that are neither the first list nor the first watch of a kind and selector.
	besides := func(events testcluster.Events) []string {
		seen := map[string]bool{}
		return verbs(events.Where(func(e testcluster.Event) bool {
			path, query, _ := strings.Cut(e.RequestURI, "?")
			first := e.Verb + path + strings.Join(selectors(query), "&")
			again := seen[first]
			seen[first] = true
			return e.Verb != "list" && e.Verb != "watch" || again
		}))
	}
	// kinds returns the resource of each watch.
	kinds := func(events testcluster.Events) []string {
		var watched []string
		for _, e := range events.Verb("watch") {
			watched = append(watched, e.Resource)
		}
		return watched
	}

	for _, policy := range append([]string{"recreate"}, inPlacePolicies...) {
		Context("update policy "+policy+":", func() {
			const gadgets = 3
			// start creates gadgets with several ConfigMaps and a Deployment each.
			start := func(ctx context.Context) (all []*gadget.Gadget, stop func()) {
				GinkgoHelper()
				stop = runOperator(operator, operatorOptions{})
				setting := fmt.Sprintf("%s/update-policy: %s", operator, policy)
				for i := range gadgets {
					name := fmt.Sprintf("app-%d", i)
					all = append(all, newGadget(ctx, namespace, name, together(configMaps(name, count, "a", setting),
						deployment(name, setting)), servedBy(operator)))
				}
				for _, g := range all {
					expectReady(ctx, g)
				}
				return all, stop
			}

			It("a restart lists and watches each kind once, and sends no other request", func(ctx SpecContext) {
				_, stop := start(ctx)
				made := restart(ctx, stop, gadgets, operatorOptions{}, nothing)
				Expect(besides(made)).To(BeEmpty())
				// The operator watches definitions and APIServices to know the served types, and Secrets with its finalizer to find
				// records that are no longer used.
				Expect(kinds(made)).To(ConsistOf("gadgets", "configmaps", "deployments", "secrets", "customresourcedefinitions",
					"apiservices"))
			})

			It("a dependent that drifted while no operator ran is repaired by one write", func(ctx SpecContext) {
				_, stop := start(ctx)
				requests := next(ctx, stop, gadgets, operatorOptions{}, func() {
					patch(ctx, newConfigMap(namespace, "app-0-3"), `{"data":{"value":"theirs"}}`)
				})
				Eventually(ctx, func() any { return content(ctx, "ConfigMap", namespace, "app-0-3")["value"] }).Should(Equal("a"))
				made := requests()
				// With the policies recreate and replace, the object is read before the write.
				Expect(len(made.Verb("get").Resource("configmaps"))).To(BeNumerically("<=", 1))
				Expect(made.Verb("update", "patch", "create").Resource("configmaps", "deployments")).To(HaveLen(1),
					"%v", verbs(made))
			})

			It("a dependent that was deleted while no operator ran is created by one write", func(ctx SpecContext) {
				_, stop := start(ctx)
				requests := next(ctx, stop, gadgets, operatorOptions{}, func() { remove(ctx, newConfigMap(namespace, "app-0-3")) })
				Eventually(ctx, func() error { _, err := get(ctx, "v1", "ConfigMap", namespace, "app-0-3"); return err }).
					Should(Succeed())
				made := requests()
				Expect(made.Writes().Resource("configmaps", "deployments")).To(HaveLen(1), "%v", verbs(made))
				Expect(made.Verb("get").Resource("configmaps", "deployments")).To(BeEmpty())
			})
		})
	}

	It("a restart reads looked-up objects once for each rendering, and writes nothing", func(ctx SpecContext) {
		create(ctx, configMapIn(namespace, "source", "a"))
		options := operatorOptions{generate: &chart{}}
		stop := runOperator(operator, options)
		g := newGadget(ctx, namespace, "app",
			`{apiVersion: v1, kind: ConfigMap, metadata: {name: copy}, data: {value: {{ (lookup "v1" "ConfigMap" .Release.Namespace "source").data.value }}}}`, servedBy(operator))
		expectReady(ctx, g)
		made := restart(ctx, stop, 1, options, nothing)
		Expect(besides(made)).To(Equal([]string{"get configmaps 200"}))
	})

	It("a restarted operator does not read the Secret with the objects of deletion phases", func(ctx SpecContext) {
		stop := runOperator(operator, operatorOptions{})
		g := newGadget(ctx, namespace, "app", together(configMaps("cm", count, "a"), oneJob("clean", preDelete(operator))),
			servedBy(operator))
		expectReady(ctx, g)
		Expect(records(ctx, namespace)).To(HaveLen(1))
		Expect(besides(restart(ctx, stop, 1, operatorOptions{}, nothing))).To(BeEmpty())
	})

	It("a restart reads a pinned rendering, and writes nothing", func(ctx SpecContext) {
		options := operatorOptions{generate: &chart{}}
		stop := runOperator(operator, options)
		g := newGadget(ctx, namespace, "app",
			`{apiVersion: v1, kind: Secret, metadata: {name: login}, data: {password: {{ randAlphaNum 16 | b64enc }}}}`,
			servedBy(operator))
		expectReady(ctx, g)
		Expect(besides(restart(ctx, stop, 1, options, nothing))).To(Equal([]string{"get secrets 200"}))
	})

	It("a restart reads a kubeconfig and the id of its cluster, and writes nothing", func(ctx SpecContext) {
		keepOwnKubeconfig(ctx, namespace)
		stop := runOperator(operator, operatorOptions{})
		g := newGadget(ctx, namespace, "app", configMaps("cm", count, "a"), inCluster("near"), servedBy(operator))
		expectReady(ctx, g)
		Expect(besides(restart(ctx, stop, 1, operatorOptions{}, nothing))).To(ConsistOf("get secrets 200",
			"get namespaces 200"))
	})

	It("if the status names the UID of another object, as after a restore from a backup, a restarted operator reads the "+
		"id of the cluster, and writes no dependent", func(ctx SpecContext) {
		stop := runOperator(operator, operatorOptions{})
		g := newGadget(ctx, namespace, "app", configMaps("cm", count, "a"), servedBy(operator))
		expectReady(ctx, g)
		identity := current(ctx, g).Status.Identity
		Expect(identity).To(HaveSuffix("/" + string(g.UID)))
		made := restart(ctx, stop, 1, operatorOptions{}, func() {
			identify(ctx, g,
				"elsewhere/11111111-1111-1111-1111-111111111111")
		})
		Expect(made.Verb("get")).To(HaveLen(1))
		Expect(made.Resource("namespaces").Verb("get")).To(HaveLen(1))
		Expect(verbs(made.Writes().Resource("configmaps"))).To(BeEmpty())
		Eventually(ctx, func() string { return current(ctx, g).Status.Identity }).Should(Equal(identity))
	})

	Context("Statuses with the id of another cluster:", func() {
		// edited creates a component, waits until its operator makes no more passes, and edits its status while no operator
		// runs.
		edited := func(ctx context.Context) (g *gadget.Gadget, identity string) {
			GinkgoHelper()
			stop := runOperator(operator, operatorOptions{})
			g = newGadget(ctx, namespace, "app", together(configMaps("cm", count, "a"), oneJob("clean", preDelete(operator))),
				servedBy(operator))
			expectReady(ctx, g)
			settle(ctx, operator)
			stop()
			identity = current(ctx, g).Status.Identity
			identify(ctx, g, "elsewhere/"+string(g.UID))
			return g, identity
		}

		It("a wrong cluster id in the status is corrected without a write to a dependent", func(ctx SpecContext) {
			g, identity := edited(ctx)
			mark := markAudit(ctx)
			runOperator(operator, operatorOptions{})
			Eventually(ctx, func() string { return current(ctx, g).Status.Identity }).Should(Equal(identity))
			expectReady(ctx, g)
			settle(ctx, operator)
			Expect(verbs(inNamespace(requestsSince(ctx, mark, operator), namespace).Writes())).
				To(HaveEach(HavePrefix("update gadgets/status")))
			Expect(inventoryOfGadget(ctx, g)).To(Equal(ownedConfigMaps(ctx, operator, namespace)))
		})

		It("a component with a wrong cluster id in the status is deleted with all dependents", func(ctx SpecContext) {
			g, _ := edited(ctx)
			remove(ctx, g)
			runOperator(operator, operatorOptions{})
			expectNotFound(ctx, g)
			Expect(countConfigMaps(ctx, namespace)).To(BeZero())
			Expect(records(ctx, namespace)).To(BeEmpty())
		})

		It("dependents that are no longer rendered are pruned although the status has a "+
			"wrong cluster id", func(ctx SpecContext) {
			g, _ := edited(ctx)
			changeManifests(ctx, g, configMaps("cm", 2, "b"))
			runOperator(operator, operatorOptions{})
			expectReady(ctx, g)
			Expect(countConfigMaps(ctx, namespace)).To(Equal(2))
			Expect(records(ctx, namespace)).To(BeEmpty())
		})

		It("no finalizer stays on Secrets if a component with a wrong cluster id in the status is deleted without "+
			"its finalizer", func(ctx SpecContext) {
			g, _ := edited(ctx)
			change(ctx, g, func(g *gadget.Gadget) { g.Finalizers = append(g.Finalizers, "example.com/hold") })
			remove(ctx, g)
			runOperator(operator, operatorOptions{})
			expectCondition(ctx, g, metav1alpha1.ConditionReady, "ForeignFinalizers")
			letGo(ctx, g)
			expectNotFound(ctx, g)
			Eventually(ctx, func() []corev1.Secret { return records(ctx, namespace) }).Should(BeEmpty())
		})
	})
})

// identify sets the identity in a gadget's status.
func identify(ctx context.Context, g *gadget.Gadget, identity string) {
	GinkgoHelper()
	text := fmt.Sprintf(`{"status":{"identity":%q}}`, identity)
	Expect(k8s.Status().Patch(ctx, g, client.RawPatch(types.MergePatchType, []byte(text)))).To(Succeed())
}

// selectors returns the selectors in the query of a list or watch.
func selectors(query string) []string {
	var found []string
	for option := range strings.SplitSeq(query, "&") {
		if strings.HasPrefix(option, "labelSelector=") || strings.HasPrefix(option, "fieldSelector=") {
			found = append(found, option)
		}
	}
	return found
}
