package cli_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

// hostile has sequences that control a terminal: colours, the cursor, a link, the clipboard, and the direction of text.
const hostile = "a\x1b[31mb\x1b[2J\x1b]8;;http://example.com\x1b\\c\x1b]52;c;cm0=\x07\rd\u009b2Je\u202ef\u2066g\u2028\x7f"

// expectHarmless fails if an output contains a character that controls a terminal.
func expectHarmless(text string) {
	GinkgoHelper()
	at := strings.IndexFunc(text, func(r rune) bool {
		return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp))
	})
	Expect(at).To(Equal(-1), "%q", text[max(at, 0):])
}

var _ = Describe("Text from a cluster or a chart:", onCluster(func() {
	const chart = "apiVersion: v2\nname: shop\nversion: 1.0.0\n"

	It("does not control the terminal in notes, which keep their lines", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		r := fairlead(ctx, namespace, "apply", "shop", folder("Chart.yaml", chart, "templates/NOTES.txt",
			"one\n\ttwo "+hostile+"\nthree"))
		Expect(r.Err).To(BeEmpty())
		Expect(r.Out).To(ContainSubstring("one\n\ttwo a�[31mb"))
		expectHarmless(r.Out)
		r = fairlead(ctx, namespace, "notes", "shop")
		Expect(r.Out).To(And(HavePrefix("one\n\ttwo a�[31mb"), HaveSuffix("\nthree\n")))
		expectHarmless(r.Out)
	})

	It("does not control the terminal in any command that prints a status, objects or events", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		Expect(fairlead(ctx, namespace, "apply", "shop", folder("web.yaml", "")).Code).To(Equal(0))
		c := shopIn(ctx, namespace)
		report(ctx, c, metav1alpha1.Status{
			State: metav1alpha1.StateStalled, Revision: 1,
			Conditions: readyCondition(metav1.ConditionFalse, "Stalled", hostile),
			Waiting: []metav1alpha1.DependentReport{
				{Dependent: "ConfigMap " + namespace + "/" + hostile, Reason: "Failed", Message: hostile},
			},
			Blocked: []metav1alpha1.BlockReport{{Type: hostile, Count: 1, Names: []string{hostile}, Message: hostile}},
			LeftOut: []metav1alpha1.DependentReport{{Dependent: hostile, Reason: "Left", Message: hostile}},
			History: []metav1alpha1.RevisionRecord{{
				Revision: 1, Changes: []string{hostile}, Source: hostile, Reason: hostile,
				Outcome: "Failed", Started: metav1.Now(),
			}},
		})
		for _, command := range [][]string{
			{"status", "shop"},
			{"status", "shop", "-o", "wide"},
			{"status", "shop", "-o", "json"},
			{"status", "shop", "-o", "yaml"},
			{"list"},
			{"list", "-o", "wide"},
			{"list", "-o", "json"},
			{"list", "-o", "yaml"},
			{"tree", "shop"},
			{"tree", "shop", "-o", "json"},
			{"tree", "shop", "-o", "yaml"},
			{"history", "shop"},
			{"history", "shop", "-o", "json"},
			{"history", "shop", "-o", "yaml"},
			{"events", "shop"},
			{"plan", "shop"},
			{"diff", "shop"},
			{"why", "configmap/none"},
			{"reconcile", "shop", "--wait", "--timeout", "1s"},
			{"apply", "shop", folder("web.yaml", ""), "--wait", "--timeout", "1s"},
			{"resume", "shop", "--wait", "--timeout", "1s"},
			{"delete", "shop", "--wait", "--timeout", "1s"},
		} {
			r := fairlead(ctx, namespace, command...)
			By(strings.Join(command, " "))
			expectHarmless(r.Out)
			expectHarmless(r.Err)
		}
	})

	It("stays exact in JSON and YAML", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		Expect(fairlead(ctx, namespace, "apply", "shop", folder("web.yaml", "")).Code).To(Equal(0))
		report(ctx, shopIn(ctx, namespace), metav1alpha1.Status{
			State: metav1alpha1.StateStalled, Conditions: readyCondition(metav1.ConditionFalse, "Stalled", hostile),
		})
		var printed struct {
			Conditions []struct{ Message string } `json:"conditions"`
		}
		Expect(json.Unmarshal([]byte(fairlead(ctx, namespace, "status", "shop", "-o", "json").Out), &printed)).To(Succeed())
		Expect(printed.Conditions[0].Message).To(Equal(hostile))
		printed.Conditions = nil
		Expect(yaml.Unmarshal([]byte(fairlead(ctx, namespace, "status", "shop", "-o", "yaml").Out), &printed)).To(Succeed())
		Expect(printed.Conditions[0].Message).To(Equal(hostile))
	})

	It("does not control the terminal in errors, plans and differences of a chart", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		Expect(k8s.Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"}, Data: map[string]string{"text": hostile + "old"},
		})).To(Succeed())
		quoted := strconv.QuoteToASCII(hostile)
		r := fairlead(ctx, namespace, "apply", "shop", folder("Chart.yaml", chart, "templates/web.yaml",
			"{{ fail "+quoted+" }}"))
		Expect(r.Code).NotTo(Equal(0))
		Expect(r.Err).To(ContainSubstring("a�[31mb"))
		expectHarmless(r.Err)
		dir := folder("Chart.yaml", chart, "templates/web.yaml",
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata:\n  text: "+quoted+"\n")
		Expect(fairlead(ctx, namespace, "apply", "shop", dir, "--skip-plan").Code).To(Equal(0))
		for _, command := range [][]string{{"plan", "shop"}, {"diff", "shop"}, {"why", "configmap/web"}} {
			r := fairlead(ctx, namespace, command...)
			By(strings.Join(command, " "))
			expectHarmless(r.Out)
			expectHarmless(r.Err)
		}
	})
}))
