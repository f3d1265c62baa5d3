package show_test

import (
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/show"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

var _ = Describe("Adoption", func() {
	taken := func(lost ...result.LostValue) result.Step {
		return result.Step{
			Change: result.Change{Key: manifests.Key{Kind: "ConfigMap", Namespace: "shop", Name: "a"}},
			Effect: result.EffectAdopt,
			Adopts: &result.Adoption{From: "the Helm release shop/web", Lost: lost},
		}
	}

	It("names the object, who has it, and what gets lost", func() {
		Expect(show.Adoption(taken(
			result.LostValue{Path: "data.a", Before: `"x"`}, result.LostValue{Path: "data.b", Before: `"x"`, After: `"y"`},
			result.LostValue{Path: "data.c", Withheld: true},
			result.LostValue{Path: "data.d", Before: strings.Repeat("0", 70)},
		))).To(HaveExactElements(
			"ConfigMap shop/a from the Helm release shop/web", `  lost: data.a: "x"`, `  lost: data.b: "x" becomes "y"`,
			"  lost: data.c (its value is withheld, because the object is a Secret)",
			"  lost: data.d: "+strings.Repeat("0", 60)+"…",
		))
	})

	It("says why the values that get lost are not known", func() {
		s := taken()
		s.Adopts.Unknown = "Forbidden: not\ntoday"
		Expect(show.Adoption(s)).To(HaveExactElements(
			"ConfigMap shop/a from the Helm release shop/web", "  lost: not known: Forbidden: not today"))
		var text strings.Builder
		plan := show.NewPlan(&unstructured.Unstructured{}, result.Forecast{Steps: []result.Step{s}}, false)
		Expect(plan.Print(show.Output{Writer: &text, Format: "json"})).To(Succeed())
		Expect(text.String()).To(ContainSubstring(`"lostUnknown": "Forbidden: not\ntoday"`))
	})

	It("says that a Job is complete already, also in the table and as JSON", func() {
		s := taken()
		s.Reason, s.Note = "it exists and no component owns it", "it is complete already, so it does not run again"
		Expect(show.Adoption(s)).To(HaveExactElements("ConfigMap shop/a from the Helm release shop/web", "  "+s.Note))
		plan := show.NewPlan(&unstructured.Unstructured{}, result.Forecast{Steps: []result.Step{s}}, false)
		for format, want := range map[show.Format]string{"": s.Reason + "; " + s.Note, "json": `"note": "` + s.Note} {
			var text strings.Builder
			Expect(plan.Print(show.Output{Writer: &text, Format: format})).To(Succeed())
			Expect(text.String()).To(ContainSubstring(want))
		}
	})

	It("cannot control the terminal", func() {
		s := taken(result.LostValue{Path: "data.\x1b[2J", Before: "\"\x1b\n\""})
		s.Adopts.From = "the Helm release \x1b[1m"
		Expect(strings.Join(show.Adoption(s), "")).NotTo(ContainSubstring("\x1b"))
	})

	It("names the first ten values", func() {
		var lost []result.LostValue
		for i := range 12 {
			lost = append(lost, result.LostValue{Path: fmt.Sprintf("data.k%02d", i), Before: "1"})
		}
		Expect(show.Adoption(taken(lost...))).
			To(And(HaveLen(12), ContainElement("  lost: 2 more values; fairlead diff shows all")))
	})

	It("is a part of the plan, as a text and as JSON", func() {
		plan := show.NewPlan(&unstructured.Unstructured{}, result.Forecast{Steps: []result.Step{
			taken(result.LostValue{Path: "data.a", Before: `"x"`}),
		}}, false)
		var text strings.Builder
		Expect(plan.Print(show.Output{Writer: &text})).To(Succeed())
		Expect(text.String()).To(ContainSubstring(
			"\nTaken over:\n  ConfigMap shop/a from the Helm release shop/web\n    lost: data.a: \"x\"\n"))
		text.Reset()
		Expect(plan.Print(show.Output{Writer: &text, Format: "json"})).To(Succeed())
		Expect(text.String()).To(ContainSubstring(`"from": "the Helm release shop/web"`))
	})
})
