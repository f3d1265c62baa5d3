package conformance_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/test/gadget"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

var _ = Describe("Look-ups of renderings:", func() {
	var namespace, operator string
	var rendered *chart
	var start func() (stop func())
	BeforeEach(func(ctx SpecContext) {
		namespace, operator, rendered = newNamespace(ctx), newOperatorName(), &chart{}
		start = func() func() { return runOperator(operator, operatorOptions{generate: rendered}) }
	})
	// copies renders a ConfigMap with a value of another ConfigMap.
	const copies = `apiVersion: v1
kind: ConfigMap
metadata: {name: copy}
data:
  {{ $source := lookup "v1" "ConfigMap" .Release.Namespace "source" }}
  value: {{ if $source }}{{ $source.data.value | quote }}{{ else }}none{{ end }}
`
	copied := func(ctx context.Context) any { return content(ctx, "ConfigMap", namespace, "copy")["value"] }
	source := func(value string) string { return configMapIn(namespace, "source", value) }
	// gets returns an operator's read requests for the looked-up objects in the spec's namespace.
	gets := func(ctx context.Context, mark auditMark) testcluster.Events {
		GinkgoHelper()
		return inNamespace(auditEvents(ctx)[mark:].UserAgent(userAgent(operator)), namespace).Verb("get")
	}

	It("a looked-up object that is created, changed or deleted leads to a new rendering without a "+
		"new revision", func(ctx SpecContext) {
		start()
		g := newGadget(ctx, namespace, "app", copies, servedBy(operator))
		expectReady(ctx, g)
		Expect(copied(ctx)).To(Equal("none"))
		Expect(current(ctx, g).Status.Lookups).To(Equal([]string{"/v1/ConfigMap/" + namespace + "/source is=missing"}))
		settle(ctx, operator)

		mark := markAudit(ctx)
		create(ctx, source("a"))
		Eventually(ctx, func() any { return copied(ctx) }).Should(Equal("a"))
		settle(ctx, operator)
		patch(ctx, newConfigMap(namespace, "source"), `{"data":{"value":"b"}}`)
		Eventually(ctx, func() any { return copied(ctx) }).Should(Equal("b"))
		settle(ctx, operator)
		Expect(verbs(gets(ctx, mark).Where(named("source")))).To(HaveLen(4),
			"want four reads of the looked-up object: for its creation and for its change, a read that finds the change and a "+
				"read for the rendering")
		remove(ctx, newConfigMap(namespace, "source"))
		Eventually(ctx, func() any { return copied(ctx) }).Should(Equal("none"))
		expectReady(ctx, g)
		Eventually(ctx, func() int64 { return current(ctx, g).Status.Rendition }).Should(Equal(int64(3)))
		Expect(current(ctx, g).Status.Revision).To(Equal(int64(1)))
	})

	It("a looked-up copy that somebody made of a dependent is no dependent: its change leads to a "+
		"new rendering", func(ctx SpecContext) {
		start()
		g := newGadget(ctx, namespace, "app", together(copies, configMap("original", "a")), servedBy(operator))
		expectReady(ctx, g)
		source := mustGet(ctx, "v1", "ConfigMap", namespace, "original")
		source.SetName("source")
		source.SetUID("")
		source.SetResourceVersion("")
		source.SetManagedFields(nil)
		Expect(k8s.Create(ctx, source)).To(Succeed())
		Eventually(ctx, func() any { return copied(ctx) }).Should(Equal("a"))
		settle(ctx, operator)
		patch(ctx, source, `{"data":{"value":"b"}}`)
		Eventually(ctx, func() any { return copied(ctx) }).Should(Equal("b"))
		expectReady(ctx, g)
	})

	It("a looked-up list leads to a new rendering when an object is added", func(ctx SpecContext) {
		start()
		g := newGadget(ctx, namespace, "app",
			configMap("copy", `{{ range (lookup `+"`v1` `ServiceAccount`"+` .Release.Namespace `+"``"+
				`).items }}{{ .metadata.name }} {{ end }}`),
			servedBy(operator))
		Eventually(ctx, func() error { _, err := get(ctx, "v1", "ServiceAccount", namespace, "default"); return err }).
			Should(Succeed())
		expectReady(ctx, g)
		Eventually(ctx, func() any { return copied(ctx) }).Should(Equal("default "))
		create(ctx, "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: other, namespace: "+namespace+"}")
		Eventually(ctx, func() any { return copied(ctx) }).Should(Equal("default other "))
		Expect(current(ctx, g).Status.Revision).To(Equal(int64(1)))
	})

	It("a looked-up object of a type that is not served yet leads to a new rendering when the "+
		"type is served", func(ctx SpecContext) {
		group := newGroup()
		start()
		g := newGadget(ctx, namespace, "app",
			configMap("copy", `{{ len (lookup `+"`"+group+"/v1` `Widget`"+` .Release.Namespace `+"`w`"+
				`) }} {{ .Capabilities.APIVersions.Has `+"`"+group+"/v1` }}"),
			servedBy(operator))
		expectReady(ctx, g)
		Expect(copied(ctx)).To(Equal("0 false"))
		definition := create(ctx, widgetDefinition(group))
		DeferCleanup(func(ctx SpecContext) { _ = k8s.Delete(ctx, definition[0]) })
		Eventually(ctx, func() any { return copied(ctx) }).Should(Equal("0 true"))
		create(ctx, strings.Replace(widget(group, "w"), "{name:", "{namespace: "+namespace+", name:", 1))
		Eventually(ctx, func() any { return copied(ctx) }).ShouldNot(HavePrefix("0"))
		Expect(current(ctx, g).Status.Revision).To(Equal(int64(1)))
	})

	It("a component that defines types is not rendered again when they are served, unless it "+
		"asks for them", func(ctx SpecContext) {
		group := newGroup()
		start()
		mark := markAudit(ctx)
		manifests := widgetDefinition(group) + "\n---\n" + widget(group, "w") + "\n---\n" +
			configMap("copy", "{{ .Capabilities.APIVersions.Has `v1` }}")
		g := newGadget(ctx, namespace, "app", manifests, servedBy(operator))
		expectReady(ctx, g)
		Eventually(ctx, func() int {
			applied := auditEvents(ctx)[mark:].UserAgent(userAgent(operator))
			defined := slices.IndexFunc(applied, func(e testcluster.Event) bool { return e.Name == "widgets."+group })
			return len(applied[defined:].Where(func(e testcluster.Event) bool { return e.RequestURI == "/version" }))
		}).WithTimeout(30*time.Second).Should(BeNumerically(">=", 2), "readings of the types after the definition")
		settle(ctx, operator)
		Expect(rendered.renderings.Load()).To(Equal(int64(2)),
			"the first rendering, and the check whether it is deterministic")

		By("asking for a type of the group")
		changeManifests(ctx, g, strings.Replace(manifests, "Has `v1`", "Has `"+group+"/v1/Widget`", 1))
		expectReady(ctx, g)
		Expect(copied(ctx)).To(Equal("true"))
	})

	It("a change of a looked-up object is detected after another client reset the status of "+
		"the component", func(ctx SpecContext) {
		stop := start()
		create(ctx, source("a"))
		g := newGadget(ctx, namespace, "app", copies, servedBy(operator))
		expectReady(ctx, g)
		before := current(ctx, g).Status
		patch(ctx, newConfigMap(namespace, "source"), `{"data":{"value":"b"}}`)
		Eventually(ctx, func() any { return copied(ctx) }).Should(Equal("b"))
		settle(ctx, operator)
		stop()
		g = current(ctx, g)
		g.Status.Rendition, g.Status.Lookups, g.Status.LookupsDigest = before.Rendition, before.Lookups, before.LookupsDigest
		Expect(k8s.Status().Update(ctx, g)).To(Succeed())
		patch(ctx, newConfigMap(namespace, "source"), `{"data":{"value":"c"}}`)
		start()
		Eventually(ctx, func() any { return copied(ctx) }).Should(Equal("c"))
	})

	It("a rendering that fails because a looked-up object does not exist succeeds when the "+
		"object is created", func(ctx SpecContext) {
		start()
		g := newGadget(ctx, namespace, "app", configMap("copy", `{{ (required `+"`no source`"+` (lookup `+"`v1` `ConfigMap`"+
			` .Release.Namespace `+"`source`"+`)).data.value }}`),
			servedBy(operator), func(g *gadget.Gadget) { g.Spec.RetryInterval = seconds(600) })
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, "GenerateFailed")
		create(ctx, source("a"))
		expectReady(ctx, g)
	})

	It("a change of a looked-up object that cannot be rendered stays a failure at each retry, and is applied when it "+
		"can be rendered", func(ctx SpecContext) {
		start()
		create(ctx, source("a"))
		picky := strings.Replace(copies, "data:\n",
			"data:\n  {{ if lookup `v1` `ConfigMap` .Release.Namespace `veto` }}{{ fail `there is a veto` }}{{ end }}\n", 1)
		g := newGadget(ctx, namespace, "app", picky, servedBy(operator), retrySoon)
		expectReady(ctx, g)
		Expect(copied(ctx)).To(Equal("a"))
		create(ctx, configMapIn(namespace, "veto", "yes"))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, ContainSubstring("there is a veto"))
		patch(ctx, newConfigMap(namespace, "source"), `{"data":{"value":"b"}}`)
		before := rendered.renderings.Load()
		Eventually(ctx, rendered.renderings.Load).Should(BeNumerically(">=", before+3),
			"renderings while the set cannot be rendered")
		Expect(condition(current(ctx, g), metav1alpha1.ConditionStalled)).To(ContainSubstring("there is a veto"))
		Expect(copied(ctx)).To(Equal("a"))
		remove(ctx, newConfigMap(namespace, "veto"))
		expectReady(ctx, g)
		Eventually(ctx, func() any { return copied(ctx) }).Should(Equal("b"))
	})

	It("a component that looks up its own Secret, and generates it if it does not exist, needs "+
		"only one pass", func(ctx SpecContext) {
		stop := start()
		const own = `apiVersion: v1
kind: Secret
metadata: {name: own}
data:
  {{ $own := lookup "v1" "Secret" .Release.Namespace "own" }}
  value: {{ if $own }}{{ $own.data.value }}{{ else }}{{ randAlphaNum 16 | b64enc }}{{ end }}
`
		mark := markAudit(ctx)
		g := newGadget(ctx, namespace, "app", own, servedBy(operator))
		expectReady(ctx, g)
		password := content(ctx, "Secret", namespace, "own")["value"]
		settle(ctx, operator)
		Expect(rendered.renderings.Load()).To(Equal(int64(2)))
		Expect(verbs(gets(ctx, mark).Where(named("own")))).To(Equal([]string{"get secrets 404", "get secrets 404"}),
			"the look-up, and the look whether a backup restored the generated value")
		Expect(verbs(requestsSince(ctx, mark, operator).Writes().Where(named("own")))).
			To(Equal([]string{"patch secrets 201"}))

		By("restarting the operator")
		stop()
		mark = markAudit(ctx)
		start()
		Eventually(ctx, func() int { return len(gets(ctx, mark).Where(named("own"))) }).Should(Equal(1))
		settle(ctx, operator)
		Expect(rendered.renderings.Load()).To(Equal(int64(2)))
		Expect(verbs(inNamespace(requestsSince(ctx, mark, operator), namespace).Writes())).To(BeEmpty())

		By("changing the inputs while the Secret exists")
		changeManifests(ctx, g, own+"---\n"+configMap("settings", "a"))
		expectReady(ctx, g)
		Expect(content(ctx, "Secret", namespace, "own")["value"]).To(Equal(password))
		Expect(condition(current(ctx, g), metav1alpha1.ConditionNonDeterministic)).To(BeEmpty())
		Expect(keptSets(ctx, namespace)).To(BeEmpty())
	})

	It("when a looked-up object changes, the dependents that depend on it change, and generated "+
		"values are kept", func(ctx SpecContext) {
		start()
		create(ctx, source("a"))
		const random = "---\n" + `apiVersion: v1
kind: Secret
metadata: {name: random}
data: {password: {{ randAlphaNum 16 | b64enc }}}
`
		g := newGadget(ctx, namespace, "app", copies+random, servedBy(operator))
		expectReady(ctx, g)
		password := content(ctx, "Secret", namespace, "random")["password"]
		patch(ctx, newConfigMap(namespace, "source"), `{"data":{"value":"b"}}`)
		Eventually(ctx, func() any { return copied(ctx) }).Should(Equal("b"))
		expectReady(ctx, g)
		Expect(content(ctx, "Secret", namespace, "random")["password"]).To(Equal(password))
		Expect(keptSets(ctx, namespace)).To(HaveLen(1))
	})

	It("a change of a looked-up object does not run a Job again", func(ctx SpecContext) {
		start()
		create(ctx, source("a"))
		g := newGadget(ctx, namespace, "app", copies+"---\n"+strings.Replace(oneJob("work"), `"busybox:1"`,
			"\"busybox:{{ (lookup `v1` `ConfigMap` .Release.Namespace `source`).data.value }}\"", 1), servedBy(operator))
		expectReady(ctx, g)
		mark := markAudit(ctx)
		patch(ctx, newConfigMap(namespace, "source"), `{"data":{"value":"b"}}`)
		Eventually(ctx, func() any { return copied(ctx) }).Should(Equal("b"))
		expectReady(ctx, g)
		settle(ctx, operator)
		Expect(story(ctx, mark, operator, namespace)).To(Equal([]string{"patch configmaps/copy"}))
	})

	It("a looked-up object that the operator is not allowed to watch is read at the retry interval, which the "+
		"status reports", func(ctx SpecContext) {
		forbidden := &refusal{method: "GET", path: "/namespaces/" + namespace + "/configmaps"}
		forbidden.on.Store(true)
		runOperator(operator, operatorOptions{generate: rendered, transport: forbidden.wrap})
		create(ctx, source("a"))
		g := newGadget(ctx, namespace, "app", copies,
			servedBy(operator), func(g *gadget.Gadget) { g.Spec.RetryInterval = seconds(1) })
		expectReady(ctx, g)
		expectCondition(ctx, g, metav1alpha1.ConditionReady, And(ContainSubstring("looked-up configmaps"),
			ContainSubstring("cannot be watched")))
		patch(ctx, newConfigMap(namespace, "source"), `{"data":{"value":"b"}}`)
		Eventually(ctx, func() any { return copied(ctx) }).Should(Equal("b"))
	})

	It("if a rendering looks up more objects than the status can list, changes of all of them are detected, and a "+
		"restart renders again and writes nothing", func(ctx SpecContext) {
		stop := start()
		create(ctx, source("a"))
		g := newGadget(ctx, namespace, "app",
			"{{ range $i := until 101 }}{{ $_ := lookup `v1` `ConfigMap` $.Release.Namespace (print `none-` $i) }}{{ end }}\n"+
				copies, servedBy(operator))
		expectReady(ctx, g)
		Expect(current(ctx, g).Status.Lookups).To(BeEmpty())
		Expect(current(ctx, g).Status.LookupsDigest).NotTo(BeEmpty())
		patch(ctx, newConfigMap(namespace, "source"), `{"data":{"value":"b"}}`)
		Eventually(ctx, func() any { return copied(ctx) }).Should(Equal("b"))
		expectReady(ctx, g)
		settle(ctx, operator)

		stop()
		mark, before := markAudit(ctx), rendered.renderings.Load()
		start()
		Eventually(ctx, rendered.renderings.Load).Should(BeNumerically(">", before))
		settle(ctx, operator)
		Expect(verbs(inNamespace(requestsSince(ctx, mark, operator), namespace).Writes())).To(BeEmpty())
		patch(ctx, newConfigMap(namespace, "source"), `{"data":{"value":"c"}}`)
		Eventually(ctx, func() any { return copied(ctx) }).Should(Equal("c"))
		Expect(current(ctx, g).Status.Revision).To(Equal(int64(1)))
	})

	It("all components that look up objects of a type share a watch, which ends when the last of these "+
		"components is deleted", func(ctx SpecContext) {
		start()
		create(ctx, source("a"))
		mark := markAudit(ctx)
		watches := func() int {
			return len(auditEvents(ctx)[mark:].UserAgent(userAgent(operator)).Verb("watch").
				Where(func(e testcluster.Event) bool {
					return e.Resource == "configmaps" && e.Namespace == namespace
				}))
		}
		var all []*gadget.Gadget
		for i := range 3 {
			g := newGadget(ctx, namespace, fmt.Sprintf("app-%d", i), strings.ReplaceAll(copies, "name: copy",
				fmt.Sprintf("name: copy-%d", i)), servedBy(operator))
			expectReady(ctx, g)
			all = append(all, g)
		}
		Eventually(ctx, watches).Should(Equal(1))
		for _, g := range all {
			remove(ctx, g)
			expectNotFound(ctx, g)
		}
		g := newGadget(ctx, namespace, "again", copies, servedBy(operator))
		expectReady(ctx, g)
		Eventually(ctx, watches).Should(Equal(2), "no new watch was opened after the watch without users had ended")
	})
})
