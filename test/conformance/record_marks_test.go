package conformance_test

import (
	"context"
	"fmt"
	"maps"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/test/gadget"
)

// markEdits are edits of the label and the annotation that mark a Secret as a record of a component. mark is the name
// of both.
var markEdits = map[string]func(secret *corev1.Secret, mark string){
	"the label is edited":      func(s *corev1.Secret, mark string) { s.Labels[mark] = "edited" },
	"the label is removed":     func(s *corev1.Secret, mark string) { delete(s.Labels, mark) },
	"the annotation is edited": func(s *corev1.Secret, mark string) { s.Annotations[mark] = "edited" },
	"the annotation is removed": func(s *corev1.Secret, mark string) {
		delete(s.Annotations, mark)
	},
	"both are edited": func(s *corev1.Secret, mark string) { s.Labels[mark], s.Annotations[mark] = "edited", "edited" },
	"both are removed": func(s *corev1.Secret, mark string) {
		delete(s.Labels, mark)
		delete(s.Annotations, mark)
	},
	"all labels and annotations are removed": func(s *corev1.Secret, _ string) { s.Labels, s.Annotations = nil, nil },
}

// editMarks edits all Secrets with records in a namespace, as another client.
func editMarks(ctx context.Context, namespace, operator string, edit func(*corev1.Secret, string)) {
	GinkgoHelper()
	secrets := slices.Concat(recordKind(ctx, namespace, "inventory"), recordKind(ctx, namespace, "phases"),
		recordKind(ctx, namespace, "rendered"), stateSecrets(ctx, namespace))
	Expect(secrets).NotTo(BeEmpty())
	for i := range secrets {
		edit(&secrets[i], operator+"/record-of")
		Expect(k8s.Update(ctx, &secrets[i], client.FieldOwner(backupTool))).To(Succeed())
	}
}

var _ = Describe("Secrets with records whose marks another client edited:", func() {
	var operator string
	BeforeEach(func() { operator = newOperatorName() })

	options := func() operatorOptions {
		return operatorOptions{
			generate:  &chart{},
			component: component.Options{Limits: component.Limits{StatusInventory: -1}},
		}
	}
	manifests := func(value string) string {
		return together(configMap("settings", value), configMap("before", "a", preDelete(operator)),
			"{apiVersion: v1, kind: Secret, metadata: {name: login}, data: {password: {{ randAlphaNum 16 | b64enc }}}}")
	}
	// start creates a gadget that has records of all kinds in a namespace of its own.
	start := func(ctx context.Context) *gadget.Gadget {
		GinkgoHelper()
		g := newGadget(ctx, newNamespace(ctx), "app", manifests("a"), servedBy(operator), retrySoon)
		expectReady(ctx, g)
		for _, kind := range []string{"inventory", "phases", "rendered"} {
			Eventually(ctx, func() int { return len(recordKind(ctx, g.Namespace, kind)) }).Should(Equal(1), kind)
		}
		return g
	}
	expectEnd := func(ctx context.Context, g *gadget.Gadget) {
		GinkgoHelper()
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(secretsOf(ctx, g.Namespace)).To(BeEmpty())
		Expect(countConfigMaps(ctx, g.Namespace)).To(BeZero())
	}

	for _, running := range []bool{true, false} {
		It(fmt.Sprintf("the deletion of the component deletes them (running: %t)", running), func(ctx SpecContext) {
			stop := runOperator(operator, options())
			gadgets := map[string]*gadget.Gadget{}
			for name := range markEdits {
				gadgets[name] = start(ctx)
			}
			settle(ctx, operator)
			if !running {
				stop()
			}
			for name, g := range gadgets {
				editMarks(ctx, g.Namespace, operator, markEdits[name])
			}
			if !running {
				runOperator(operator, options())
			}
			for _, name := range slices.Sorted(maps.Keys(gadgets)) {
				By(name)
				expectEnd(ctx, gadgets[name])
			}
		})
	}

	It("a pass that replaces them deletes them", func(ctx SpecContext) {
		runOperator(operator, options())
		g := start(ctx)
		settle(ctx, operator)
		before := secretsOf(ctx, g.Namespace)
		editMarks(ctx, g.Namespace, operator, markEdits["both are removed"])
		change(ctx, g, func(g *gadget.Gadget) {
			g.Spec.Manifests = together(manifests("b"), configMap("more", "a"), configMap("after", "a", preDelete(operator)))
		})
		Eventually(ctx, func() []string { return secretsOf(ctx, g.Namespace) }).Should(And(HaveLen(len(before)),
			Not(ContainElement(BeElementOf(
				slices.DeleteFunc(before, func(name string) bool { return name == "login" }))))))
		expectReady(ctx, g)
		expectEnd(ctx, g)
	})

	It("if a component disappeared while no operator ran, the deletion of its namespace ends", func(ctx SpecContext) {
		stop := runOperator(operator, options())
		gadgets := map[string]*gadget.Gadget{}
		for name := range markEdits {
			gadgets[name] = start(ctx)
		}
		// Without any label, only the deletion of the component finds the Secrets.
		delete(gadgets, "all labels and annotations are removed")
		settle(ctx, operator)
		stop()
		for name, g := range gadgets {
			editMarks(ctx, g.Namespace, operator, markEdits[name])
			remove(ctx, g)
			letGo(ctx, g)
			remove(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: g.Namespace}})
		}
		runOperator(operator, options())
		for _, name := range slices.Sorted(maps.Keys(gadgets)) {
			By(name)
			expectNotFound(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: gadgets[name].Namespace}})
		}
	})

	It("with copied names, Secrets of others are neither deleted nor used", func(ctx SpecContext) {
		runOperator(operator, options())
		g := start(ctx)
		settle(ctx, operator)
		secret := recordKind(ctx, g.Namespace, "rendered")[0]
		letGo(ctx, &secret)
		remove(ctx, &secret)
		theirs := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: g.Namespace, Name: secret.Name},
			Data:       map[string][]byte{"manifests.json.gz": []byte("theirs")},
		}
		Expect(k8s.Create(ctx, theirs, client.FieldOwner(backupTool))).To(Succeed())
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(secretsOf(ctx, g.Namespace)).To(Equal([]string{secret.Name}))
	})
})
