package cli_test

import (
	"encoding/json"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/show"
	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/test/gadget"
)

var _ = Describe("status", onCluster(func() {
	It("has exit code 0 for a Ready component, and 1 for others, without an error", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		c := held(ctx, namespace, "shop")
		r := fairlead(ctx, namespace, "status", "shop")
		Expect(r).To(And(HaveField("Code", 1), HaveField("Err", BeEmpty()),
			HaveField("Out", ContainSubstring("the operator has not reconciled it yet"))))
		report(ctx, c, allReady())
		Expect(fairlead(ctx, namespace, "status", "shop")).
			To(And(HaveField("Code", 0), HaveField("Out", MatchRegexp(`State: +Ready for `))))
		c.Spec.Interval = &metav1.Duration{Duration: time.Hour}
		Expect(k8s.Update(ctx, c)).To(Succeed())
		Expect(fairlead(ctx, namespace, "status", "shop")).To(And(HaveField("Code", 1),
			HaveField("Out", MatchRegexp(`Generation: +2; the operator has observed 1`))), "ready only for an earlier spec")
		report(ctx, c, progressing(web))
		r = fairlead(ctx, namespace, "status", "shop")
		Expect(r.Code).To(Equal(1))
		Expect(r.Out).To(MatchRegexp(`(?m)^1 +Deployment.apps shop/web +InProgress +Available: 0/2$`))
		Expect(fairlead(ctx, namespace, "status", "none")).
			To(And(HaveField("Code", 1), HaveField("Err", ContainSubstring("does not exist"))))
	})

	It("prints the whole status as JSON", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		c := held(ctx, namespace, "shop")
		status := progressing(web)
		status.InputDigest, status.ProgressingSince = "abc", new(metav1.NewTime(time.Unix(1000, 0)))
		status.History = []metav1alpha1.RevisionRecord{{
			Revision: 1, Source: "ConfigMap shop-1", SourceDigest: "def",
			Started: metav1.Now(), Outcome: metav1alpha1.RevisionProgressing,
		}}
		report(ctx, c, status)
		var s show.Status
		r := fairlead(ctx, namespace, "status", "shop", "-o=json")
		Expect(json.Unmarshal([]byte(r.Out), &s)).To(Succeed())
		Expect(s.APIVersion).To(Equal(show.SchemaVersion))
		Expect(s.Reconciler).To(Equal("fairlead.io"))
		Expect(s.Applied).To(Equal(show.Applied{InputDigest: "abc", Source: "ConfigMap shop-1", SourceDigest: "def"}))
		Expect(s.TimesOut.Time).To(BeTemporally("==", time.Unix(1600, 0)),
			"the default timeout of a component is ten minutes")
		Expect(fairlead(ctx, namespace, "status", "shop", "-o=name").Out).To(Equal("component.fairlead.io/shop\n"))
	})

	It("follows a component until it is interrupted, with the exit code of the last state", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		c := held(ctx, namespace, "shop")
		p := start(ctx, namespace, "status", "shop", "--watch")
		Eventually(ctx, p.out).Should(gbytes.Say("not reconciled it yet"))
		report(ctx, c, progressing(web))
		Eventually(ctx, p.out).Should(gbytes.Say("State: +Progressing"))
		report(ctx, c, allReady())
		Eventually(ctx, p.out).Should(gbytes.Say("State: +Ready"))
		p.stop()
		Eventually(ctx, p.code).Should(Receive(Equal(0)))
		Expect(p.err.Contents()).To(BeEmpty())
	})

	It("ends when the component is deleted", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		c := held(ctx, namespace, "shop")
		p := start(ctx, namespace, "status", "shop", "--watch", "-o=name")
		Eventually(ctx, p.out).Should(gbytes.Say("component.fairlead.io/shop"))
		release(ctx, c)
		Expect(client.IgnoreNotFound(k8s.Delete(ctx, c))).To(Succeed())
		Eventually(ctx, p.code).Should(Receive(Equal(1)))
		Expect(p.err).To(gbytes.Say("component.fairlead.io/shop was deleted"))
	})
}))

var _ = Describe("history", onCluster(func() {
	It("shows the outcome of each revision, the newest last", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		c := held(ctx, namespace, "shop")
		r := fairlead(ctx, namespace, "history", "shop")
		Expect(r).To(Equal(result{Err: "component.fairlead.io/shop has no revisions yet.\n"}))
		status := allReady()
		started := metav1.NewTime(time.Now().Add(-time.Hour).Truncate(time.Second))
		status.History = []metav1alpha1.RevisionRecord{
			{
				Revision: 2, Outcome: metav1alpha1.RevisionReady, Started: started,
				Ended: new(metav1.NewTime(started.Add(90 * time.Second))), Source: "ConfigMap shop-2",
			},
			{
				Revision: 1, Outcome: metav1alpha1.RevisionFailed, Reason: "Timeout", Started: started, Ended: new(started),
				Digest: "abc",
			},
		}
		report(ctx, c, status)
		r = fairlead(ctx, namespace, "history", "shop")
		Expect(r.Out).
			To(MatchRegexp(
				`(?m)^1 +60m ago +0s +Failed: Timeout +- +- +-\n2 +60m ago +90s +Ready +ConfigMap shop-2 +- +other source\n`))
		var h show.History
		Expect(json.Unmarshal([]byte(fairlead(ctx, namespace, "history", "shop", "-o=json").Out), &h)).To(Succeed())
		Expect(h.Revisions).To(HaveExactElements(And(HaveField("Revision", int64(1)), HaveField("Digest", "abc")),
			HaveField("Outcome", "Ready")))
		Expect(fairlead(ctx, namespace, "history", "shop", "-o=name").Code).To(Equal(2),
			"the command history must refuse -o=name, because revisions are not objects")
	})
}))

var _ = Describe("reconcile", onCluster(func() {
	const requested, acknowledge = "fairlead.io/reconcile-requested-at", "fairlead.io/reconcile-acknowledge"

	It("requests a pass, and requests no acknowledgement without --wait", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		report(ctx, held(ctx, namespace, "shop"), allReady())
		Expect(fairlead(ctx, namespace, "reconcile", "shop")).
			To(Equal(result{Out: "component.fairlead.io/shop reconcile requested\n"}))
		first := shopIn(ctx, namespace).Annotations
		Expect(first).To(And(HaveKey(requested), Not(HaveKey(acknowledge))))
		fairlead(ctx, namespace, "reconcile", "shop")
		Expect(shopIn(ctx, namespace).Annotations[requested]).NotTo(Equal(first[requested]))
	})

	It("waits for the acknowledgement of its own request, and then until the component is ready", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		report(ctx, held(ctx, namespace, "shop"), allReady())
		p := start(ctx, namespace, "reconcile", "shop", "--wait")
		Eventually(ctx, p.out).Should(gbytes.Say("the operator has not acknowledged the request yet"))
		c := shopIn(ctx, namespace)
		Expect(c.Annotations[acknowledge]).To(Equal(c.Annotations[requested]))
		status := progressing(web)
		status.LastHandledReconcileAt = c.Annotations[requested]
		report(ctx, c, status)
		Eventually(ctx, p.out).Should(gbytes.Say("waiting for Deployment"))
		status = allReady()
		status.LastHandledReconcileAt = c.Annotations[requested]
		report(ctx, c, status)
		Eventually(ctx, p.code).Should(Receive(Equal(0)))
	})

	It("reads the annotation prefix of another operator from the status, and fails without it", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := &gadget.Gadget{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "g"}}
		Expect(k8s.Create(ctx, g)).To(Succeed())
		Expect(fairlead(ctx, namespace, "reconcile", "gadget/g")).
			To(And(HaveField("Code", 1), HaveField("Err", ContainSubstring("has not reconciled it yet"))))
		g.Status.Status = metav1alpha1.Status{Reconciler: "gadgets.test.fairlead.io", State: metav1alpha1.StateReady}
		Expect(k8s.Status().Update(ctx, g)).To(Succeed())
		Expect(fairlead(ctx, namespace, "reconcile", "gadget/g").Code).To(Equal(0))
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(g), g)).To(Succeed())
		Expect(g.Annotations).To(HaveKey("gadgets.test.fairlead.io/reconcile-requested-at"))
	})
}))

var _ = Describe("suspend and resume", onCluster(func() {
	const why = "fairlead.io/suspend-reason"

	It("suspend a component with a reason, and remove both again", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		report(ctx, held(ctx, namespace, "shop"), allReady())
		Expect(fairlead(ctx, namespace, "suspend", "shop", "--reason=the database moves")).
			To(Equal(result{Out: "component.fairlead.io/shop suspended\n"}))
		c := shopIn(ctx, namespace)
		Expect(c.Spec.Suspend).To(BeTrue())
		Expect(c.Annotations).To(HaveKeyWithValue(why, "the database moves"))
		Expect(fairlead(ctx, namespace, "suspend", "shop").Out).To(Equal("component.fairlead.io/shop is suspended already\n"))
		Expect(fairlead(ctx, namespace, "reconcile", "shop")).
			To(And(HaveField("Code", 1), HaveField("Err", ContainSubstring("is suspended; resume it first"))))
		Expect(fairlead(ctx, namespace, "suspend", "shop", "--reason=still").Out).
			To(Equal("component.fairlead.io/shop suspended\n"))
		Expect(shopIn(ctx, namespace).Annotations).
			To(And(HaveKeyWithValue(why, "still"), HaveKey("fairlead.io/reconcile-requested-at")),
				"the command must write the new reason and request a pass")
		Expect(fairlead(ctx, namespace, "resume", "shop").Out).To(Equal("component.fairlead.io/shop resumed\n"))
		c = shopIn(ctx, namespace)
		Expect(c.Spec.Suspend).To(BeFalse())
		Expect(c.Annotations).NotTo(HaveKey(why))
		Expect(fairlead(ctx, namespace, "resume", "shop").Out).To(Equal("component.fairlead.io/shop is not suspended\n"))
	})

	It("wait until the operator has acknowledged", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		report(ctx, held(ctx, namespace, "shop"), allReady())
		p := start(ctx, namespace, "suspend", "shop", "--wait")
		Eventually(ctx, p.out).Should(gbytes.Say("the operator has not observed the suspension yet"))
		report(ctx, shopIn(ctx, namespace), metav1alpha1.Status{State: metav1alpha1.StateSuspended})
		Eventually(ctx, p.code).Should(Receive(Equal(0)))
		Expect(p.out).To(gbytes.Say("the operator has suspended the component\n"))
		report(ctx, shopIn(ctx, namespace), allReady())
		Expect(fairlead(ctx, namespace, "suspend", "shop", "--wait")).To(And(HaveField("Code", 1),
			HaveField("Err", "fairlead: component.fairlead.io/shop is not suspended: the operator has observed spec.suspend, "+
				"but continues to reconcile the component\n")))
		report(ctx, shopIn(ctx, namespace), metav1alpha1.Status{State: metav1alpha1.StateSuspended})
		p = start(ctx, namespace, "resume", "shop", "--wait")
		Eventually(ctx, p.out).Should(gbytes.Say("waiting for the operator"))
		report(ctx, shopIn(ctx, namespace), allReady())
		Eventually(ctx, p.code).Should(Receive(Equal(0)))
	})

	It("refuse types without the field spec.suspend", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		definitions, err := manifests.Decode("crd.yaml", []byte(plainType))
		Expect(err).NotTo(HaveOccurred())
		Expect(k8s.Create(ctx, definitions[0])).To(Succeed())
		plain := must(manifests.Decode("plain.yaml",
			[]byte(`{apiVersion: plain.example.com/v1, kind: Plain, metadata: {name: p, namespace: `+namespace+
				`}, spec: {size: 1}}`)))[0]
		Eventually(ctx, func() error { return k8s.Create(ctx, plain) }).Should(Succeed())
		plain.Object["status"] = map[string]any{"reconciler": "plain.example.com", "state": "Ready"}
		Expect(k8s.Status().Update(ctx, plain)).To(Succeed())
		r := fairlead(ctx, namespace, "suspend", "plain/p")
		Expect(r.Code).To(Equal(1))
		Expect(r.Err).
			To(Equal("fairlead: plains.plain.example.com has no field spec.suspend: components of this type cannot be " +
				"suspended\n"))
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(plain), plain)).To(Succeed())
		Expect(plain.GetAnnotations()).To(BeEmpty(), "the command wrote annotations")
		Expect(fairlead(ctx, namespace, "reconcile", "plain/p").Code).To(Equal(0))
	})
}))

const plainType = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: plains.plain.example.com}
spec:
  group: plain.example.com
  names: {kind: Plain, listKind: PlainList, plural: plains, singular: plain}
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      subresources: {status: {}}
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec: {type: object, properties: {size: {type: integer}}}
            status: {type: object, x-kubernetes-preserve-unknown-fields: true}`
