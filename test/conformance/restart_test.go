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

var _ = Describe("An operator that is restarted", func() {
	const count = 12
	var namespace, operator string
	BeforeEach(func(ctx SpecContext) { namespace, operator = newNamespace(ctx), newOperatorName() })

	// restart does something while no operator runs, and returns all requests of the next one until it has looked at
	// the gadgets. Leases, events and discovery are not among them.
	restart := func(ctx context.Context, stop func(), gadgets int, o operatorOptions, meanwhile func()) testcluster.Events {
		GinkgoHelper()
		settle(ctx, operator)
		stop()
		meanwhile()
		mark, before := markAudit(ctx), passes(operator)
		runOperator(operator, o)
		Eventually(ctx, func() int { return passes(operator) - before }).Should(BeNumerically(">=", gadgets))
		settle(ctx, operator)
		return auditEvents(ctx)[mark:].UserAgent(userAgent(operator)).Where(func(e testcluster.Event) bool {
			return e.Resource != "" && e.Resource != "leases" && e.Resource != "events"
		})
	}
	nothing := func() {}
	// besides returns what is neither the list nor the watch that a kind is watched with: one of each for a kind and a
	// selector.
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
	// kinds returns what is watched, each once for a selector.
	kinds := func(events testcluster.Events) []string {
		var watched []string
		for _, e := range events.Verb("watch") {
			watched = append(watched, e.Resource)
		}
		return watched
	}

	for _, policy := range append([]string{"recreate"}, inPlacePolicies...) {
		Context("under update policy "+policy, func() {
			const gadgets = 3
			// start makes gadgets with ConfigMaps and a Deployment each.
			start := func(ctx context.Context) (all []*gadget.Gadget, stop func()) {
				GinkgoHelper()
				stop = runOperator(operator, operatorOptions{})
				setting := fmt.Sprintf("%s/update-policy: %s", operator, policy)
				for i := range gadgets {
					name := fmt.Sprintf("app-%d", i)
					all = append(all, newGadget(ctx, namespace, name, together(configMaps(name, count, "a", setting), deployment(name, setting)), servedBy(operator)))
				}
				for _, g := range all {
					expectReady(ctx, g)
				}
				return all, stop
			}

			It("lists and watches each kind once, and asks and writes nothing besides", func(ctx SpecContext) {
				_, stop := start(ctx)
				made := restart(ctx, stop, gadgets, operatorOptions{}, nothing)
				Expect(besides(made)).To(BeEmpty())
				// What defines types tells what is served, and with the Secrets that we hold records are found that
				// nobody needs.
				Expect(kinds(made)).To(ConsistOf("gadgets", "configmaps", "deployments", "secrets", "customresourcedefinitions", "apiservices"))
			})

			It("repairs what drifted meanwhile, by one write", func(ctx SpecContext) {
				_, stop := start(ctx)
				made := restart(ctx, stop, gadgets, operatorOptions{}, func() {
					patch(ctx, newConfigMap(namespace, "app-0-3"), `{"data":{"value":"theirs"}}`)
				})
				Eventually(ctx, func() any { return content(ctx, "ConfigMap", namespace, "app-0-3")["value"] }).Should(Equal("a"))
				// What is deleted first, or replaced as a whole, is read.
				Expect(len(made.Verb("get").Resource("configmaps"))).To(BeNumerically("<=", 1))
				Expect(made.Verb("update", "patch", "create").Resource("configmaps", "deployments")).To(HaveLen(1), "%v", verbs(made))
			})

			It("creates what was deleted meanwhile, by one write", func(ctx SpecContext) {
				_, stop := start(ctx)
				made := restart(ctx, stop, gadgets, operatorOptions{}, func() { remove(ctx, newConfigMap(namespace, "app-0-3")) })
				Eventually(ctx, func() error { _, err := get(ctx, "v1", "ConfigMap", namespace, "app-0-3"); return err }).Should(Succeed())
				Expect(made.Writes().Resource("configmaps", "deployments")).To(HaveLen(1), "%v", verbs(made))
				Expect(made.Verb("get").Resource("configmaps", "deployments")).To(BeEmpty())
			})
		})
	}

	It("reads what a rendering looks up, once for each rendering, and writes nothing", func(ctx SpecContext) {
		create(ctx, configMapIn(namespace, "source", "a"))
		options := operatorOptions{generate: &chart{}}
		stop := runOperator(operator, options)
		g := newGadget(ctx, namespace, "app", `{apiVersion: v1, kind: ConfigMap, metadata: {name: copy}, data: {value: {{ (lookup "v1" "ConfigMap" .Release.Namespace "source").data.value }}}}`, servedBy(operator))
		expectReady(ctx, g)
		made := restart(ctx, stop, 1, options, nothing)
		Expect(besides(made)).To(Equal([]string{"get configmaps 200"}))
	})

	It("reads nothing for what is applied when components are deleted", func(ctx SpecContext) {
		stop := runOperator(operator, operatorOptions{})
		g := newGadget(ctx, namespace, "app", together(configMaps("cm", count, "a"), oneJob("clean", preDelete(operator))), servedBy(operator))
		expectReady(ctx, g)
		Expect(records(ctx, namespace)).To(HaveLen(1))
		Expect(besides(restart(ctx, stop, 1, operatorOptions{}, nothing))).To(BeEmpty())
	})

	It("reads a set that was kept, and writes nothing", func(ctx SpecContext) {
		options := operatorOptions{generate: &chart{}}
		stop := runOperator(operator, options)
		g := newGadget(ctx, namespace, "app", `{apiVersion: v1, kind: Secret, metadata: {name: login}, data: {password: {{ randAlphaNum 16 | b64enc }}}}`, servedBy(operator))
		expectReady(ctx, g)
		Expect(besides(restart(ctx, stop, 1, options, nothing))).To(Equal([]string{"get secrets 200"}))
	})

	It("reads a kubeconfig, and which cluster that leads to, and writes nothing", func(ctx SpecContext) {
		keepOwnKubeconfig(ctx, namespace)
		stop := runOperator(operator, operatorOptions{})
		g := newGadget(ctx, namespace, "app", configMaps("cm", count, "a"), inCluster("near"), servedBy(operator))
		expectReady(ctx, g)
		Expect(besides(restart(ctx, stop, 1, operatorOptions{}, nothing))).To(ConsistOf("get secrets 200", "get namespaces 200"))
	})

	It("asks which cluster it is where the record is that of another object, as a restored one is, and touches no dependent", func(ctx SpecContext) {
		stop := runOperator(operator, operatorOptions{})
		g := newGadget(ctx, namespace, "app", configMaps("cm", count, "a"), servedBy(operator))
		expectReady(ctx, g)
		identity := current(ctx, g).Status.Identity
		Expect(identity).To(HaveSuffix("/" + string(g.UID)))
		made := restart(ctx, stop, 1, operatorOptions{}, func() { identify(ctx, g, "elsewhere/11111111-1111-1111-1111-111111111111") })
		Expect(made.Verb("get")).To(HaveLen(1))
		Expect(made.Resource("namespaces").Verb("get")).To(HaveLen(1))
		Expect(verbs(made.Writes().Resource("configmaps"))).To(BeEmpty())
		Expect(current(ctx, g).Status.Identity).To(Equal(identity))
	})

	Context("and finds a component whose record names another cluster, because somebody edited it", func() {
		// edited makes a settled component whose record was edited while no operator runs.
		edited := func(ctx context.Context) (g *gadget.Gadget, identity string) {
			GinkgoHelper()
			stop := runOperator(operator, operatorOptions{})
			g = newGadget(ctx, namespace, "app", together(configMaps("cm", count, "a"), oneJob("clean", preDelete(operator))), servedBy(operator))
			expectReady(ctx, g)
			settle(ctx, operator)
			stop()
			identity = current(ctx, g).Status.Identity
			identify(ctx, g, "elsewhere/"+string(g.UID))
			return g, identity
		}

		It("touches no dependent, and records what is true", func(ctx SpecContext) {
			g, identity := edited(ctx)
			mark := markAudit(ctx)
			runOperator(operator, operatorOptions{})
			Eventually(ctx, func() string { return current(ctx, g).Status.Identity }).Should(Equal(identity))
			expectReady(ctx, g)
			settle(ctx, operator)
			Expect(verbs(inNamespace(requestsSince(ctx, mark, operator), namespace).Writes())).To(HaveEach(HavePrefix("update gadgets/status")))
			Expect(inventoryOfGadget(ctx, g)).To(Equal(ownedConfigMaps(ctx, operator, namespace)))
		})

		It("deletes all dependents with it", func(ctx SpecContext) {
			g, _ := edited(ctx)
			remove(ctx, g)
			runOperator(operator, operatorOptions{})
			expectGone(ctx, g)
			Expect(countConfigMaps(ctx, namespace)).To(BeZero())
			Expect(records(ctx, namespace)).To(BeEmpty())
		})

		It("prunes what is not wanted any more", func(ctx SpecContext) {
			g, _ := edited(ctx)
			changeManifests(ctx, g, configMaps("cm", 2, "b"))
			runOperator(operator, operatorOptions{})
			expectReady(ctx, g)
			Expect(countConfigMaps(ctx, namespace)).To(Equal(2))
			Expect(records(ctx, namespace)).To(BeEmpty())
		})

		It("leaves no finalizer on Secrets where the component goes without it", func(ctx SpecContext) {
			g, _ := edited(ctx)
			change(ctx, g, func(g *gadget.Gadget) { g.Finalizers = append(g.Finalizers, "example.com/hold") })
			remove(ctx, g)
			runOperator(operator, operatorOptions{})
			expectCondition(ctx, g, metav1alpha1.ConditionReady, "ForeignFinalizers")
			letGo(ctx, g)
			expectGone(ctx, g)
			Eventually(ctx, func() []corev1.Secret { return records(ctx, namespace) }).Should(BeEmpty())
		})
	})
})

// identify edits what a gadget's status says of who it is.
func identify(ctx context.Context, g *gadget.Gadget, identity string) {
	GinkgoHelper()
	text := fmt.Sprintf(`{"status":{"identity":%q}}`, identity)
	Expect(k8s.Status().Patch(ctx, g, client.RawPatch(types.MergePatchType, []byte(text)))).To(Succeed())
}

// selectors returns what a list or watch selects by.
func selectors(query string) []string {
	var found []string
	for option := range strings.SplitSeq(query, "&") {
		if strings.HasPrefix(option, "labelSelector=") || strings.HasPrefix(option, "fieldSelector=") {
			found = append(found, option)
		}
	}
	return found
}
