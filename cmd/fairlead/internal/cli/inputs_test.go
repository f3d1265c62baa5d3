package cli_test

import (
	"context"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/function"
)

// pricesFolder returns a chart that reads two inputs: rates, and size at another place.
func pricesFolder() string {
	GinkgoHelper()
	return folder("Chart.yaml", shopChart, "templates/prices.yaml",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: prices}\n"+
			"data: {rate: \"{{ .Values.inputs.rates.eur }} {{ .Values.size }}\"}\n",
		"templates/NOTES.txt", "rate {{ .Values.inputs.rates.eur }} {{ .Values.size }}",
		"templates/test.yaml",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: checked, annotations: {helm.sh/hook: test}}\n"+
			"data: {rate: \"{{ .Values.inputs.rates.eur }}\"}\n")
}

// withInputs applies pricesFolder as the component "shop" with a polled input, an input from an object, and calls.
func withInputs(ctx context.Context, namespace, dir string) {
	GinkgoHelper()
	Expect(k8s.Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "size"}, Data: map[string]string{"size": "small"},
	})).To(Succeed())
	Expect(fairlead(ctx, namespace, "apply", "shop", dir, "--skip-plan").Code).To(Equal(0))
	patch := `{"spec":{"inputs":[{"name":"rates","poll":{"url":"https://rates.example.com/"}},
		{"name":"size","path":"size","object":{"apiVersion":"v1","kind":"ConfigMap","name":"size","field":"data.size"}}],
		"webhook":{"secretRef":{"name":"caller"}}}}`
	Expect(k8s.Patch(ctx, shopIn(ctx, namespace), client.RawPatch("application/merge-patch+json", []byte(patch)))).
		To(Succeed())
}

var _ = Describe("inputs of a component", onCluster(func() {
	const missing = "spec.inputs[0] (rates): only the operator in the cluster knows the polled value; give it with " +
		"--input rates=FILE"

	It("are read from the cluster or from files by plan and diff", func(ctx SpecContext) {
		namespace, dir := newNamespace(ctx), pricesFolder()
		withInputs(ctx, namespace, dir)
		given := folder("rates.json", `{"eur": 2}`, "size", "large")

		for _, args := range [][]string{{"plan", "shop"}, {"plan", "shop", dir}, {"diff", "shop"}, {"diff", "shop", dir}} {
			r := fairlead(ctx, namespace, args...)
			Expect(r).To(And(HaveField("Code", 2), HaveField("Out", ""), HaveField("Err",
				"fairlead: component.fairlead.io/shop: the next writes of the operator cannot be computed: "+missing+"\n")))
		}
		r := fairlead(ctx, namespace, "diff", "shop", "--input", "rates="+given+"/rates.json")
		Expect(r.Err).To(BeEmpty())
		Expect(r.Out).To(ContainSubstring("+  rate: 2 small"))
		r = fairlead(ctx, namespace, "diff", "shop", dir, "--input", "rates="+given+"/rates.json", "--input",
			"size="+given+"/size")
		Expect(r.Err).To(BeEmpty())
		Expect(r.Out).To(ContainSubstring("+  rate: 2 large"))
		r = fairlead(ctx, namespace, "plan", "shop", "--input", "rate="+given+"/rates.json")
		Expect(r.Code).To(Equal(2))
		Expect(r.Err).To(ContainSubstring(`has no input "rate"`))
		r = fairlead(ctx, namespace, "plan", "shop", "--input", "rates:elsewhere="+given+"/rates.json")
		Expect(r.Code).To(Equal(2))
		Expect(r.Err).To(ContainSubstring("leave the path out, spec.inputs of the component has it; want NAME=FILE"))
	})

	It("do not hinder apply, which warns that it cannot check the source", func(ctx SpecContext) {
		namespace, dir := newNamespace(ctx), pricesFolder()
		withInputs(ctx, namespace, dir)
		r := fairlead(ctx, namespace, "apply", "shop", dir, "--set", "a=b")
		Expect(r).To(And(HaveField("Code", 0),
			HaveField("Err", "warning: there is no plan, so nothing is checked before the write: "+missing+"\n")))
		rates := "rates=" + folder("rates.json", `{"eur": 2}`) + "/rates.json"
		r = fairlead(ctx, namespace, "apply", "shop", dir, "--set", "a=c", "--input", rates)
		Expect(r).To(And(HaveField("Code", 0), HaveField("Err", ""), HaveField("Out", HaveSuffix("rate 2 small\n"))))
		broken := folder("a.yaml",
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {rate: '{{ .Values.inputs.rates.usd }}'}\n")
		r = fairlead(ctx, namespace, "apply", "shop", broken, "--input", rates)
		Expect(r).To(And(HaveField("Code", 2), HaveField("Err", ContainSubstring("does not render"))))

		size := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "size"}}
		Expect(k8s.Delete(ctx, size)).To(Succeed())
		r = fairlead(ctx, namespace, "apply", "shop", dir, "--set", "a=d", "--input", rates)
		Expect(r).To(And(HaveField("Code", 0),
			HaveField("Err", ContainSubstring("spec.inputs[1] (size): ConfigMap size does not exist"))))
	})

	It("are read or given for rbac, notes and test", func(ctx SpecContext) {
		namespace, dir := newNamespace(ctx), pricesFolder()
		operate(namespace)
		withInputs(ctx, namespace, dir)
		rates := "rates=" + folder("rates.json", `{"eur": 2}`) + "/rates.json"
		for command, part := range map[string]string{"rbac": "it", "notes": "its notes"} {
			r := fairlead(ctx, namespace, command, "shop")
			Expect(r).To(And(HaveField("Code", 2), HaveField("Out", ""),
				HaveField("Err", "fairlead: component.fairlead.io/shop: "+part+" cannot be rendered: "+missing+"\n")))
			r = fairlead(ctx, namespace, command, "shop", "--input", "rate="+rates[len("rates="):])
			Expect(r).To(And(HaveField("Code", 2), HaveField("Err", ContainSubstring(`has no input "rate"`))))
		}
		r := fairlead(ctx, namespace, "rbac", "shop", "--input", rates)
		Expect(r).To(And(HaveField("Code", 0), HaveField("Err", "")))
		expectGolden("rbac/inputs.yaml", namespace, r.Out)
		Expect(fairlead(ctx, namespace, "notes", "shop", "--input", rates).Out).To(Equal("rate 2 small\n"))

		unpolled := `{"spec":{"webhook":null,"inputs":[{"name":"rates","object":{"apiVersion":"v1","kind":"ConfigMap","name":"rates","field":"data"}},
			{"name":"size","path":"size","object":{"apiVersion":"v1","kind":"ConfigMap","name":"size","field":"data.size"}}]}}`
		Expect(k8s.Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "rates"}, Data: map[string]string{"eur": "3"},
		})).To(Succeed())
		Expect(k8s.Patch(ctx, shopIn(ctx, namespace), client.RawPatch("application/merge-patch+json", []byte(unpolled)))).
			To(Succeed())
		Eventually(ctx, func() int { return fairlead(ctx, namespace, "status", "shop").Code }).Should(Equal(0))
		Expect(fairlead(ctx, namespace, "notes", "shop").Out).To(Equal("rate 3 small\n"))
		Expect(fairlead(ctx, namespace, "test", "shop")).To(HaveField("Code", 0))
		checked := &corev1.ConfigMap{}
		Expect(k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "checked"}, checked)).To(Succeed())
		Expect(checked.Data).To(HaveKeyWithValue("rate", "3"))
	})

	It("are origins of values for why", func(ctx SpecContext) {
		namespace, dir := newNamespace(ctx), pricesFolder()
		operate(namespace)
		applied(ctx, namespace, folder("prices.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: prices}\n"))
		withInputs(ctx, namespace, dir)
		r := fairlead(ctx, namespace, "why", "cm/prices")
		Expect(r).To(And(HaveField("Code", 0),
			HaveField("Out", MatchRegexp("unknown +file and values: (?s:.*)--input rates=FILE\n"))))
		rates := "rates=" + folder("rates.json", `{"eur": 2}`) + "/rates.json"
		r = fairlead(ctx, namespace, "why", "cm/prices", "--input", rates)
		Expect(r).To(And(HaveField("Code", 0), HaveField("Err", "")))
		Expect(spaced(r.Out)).To(ContainElements("values inputs.rates.eur (spec.inputs[0] (rates))",
			"size (spec.inputs[1] (size))"))
		r = fairlead(ctx, namespace, "why", "cm/prices", "--input", "rate="+rates[len("rates="):])
		Expect(r).To(And(HaveField("Code", 2), HaveField("Err", ContainSubstring(`has no input "rate"`))))
	})

	It("name the flag for an object that the person may not read", func(ctx SpecContext) {
		namespace, other, dir := newNamespace(ctx), newNamespace(ctx), pricesFolder()
		withInputs(ctx, namespace, dir)
		patch := `{"spec":{"inputs":[{"name":"rates","poll":{"url":"https://rates.example.com/"}},
			{"name":"size","path":"size","object":{"apiVersion":"v1","kind":"ConfigMap","name":"size","namespace":"` +
			other + `"}}]}}`
		Expect(k8s.Patch(ctx, shopIn(ctx, namespace), client.RawPatch("application/merge-patch+json", []byte(patch)))).
			To(Succeed())
		user := "reader-of-" + namespace
		allow(ctx, namespace, user, mayView, mayEdit, "fairlead-components-editor")
		rates := "rates=" + folder("rates.json", `{"eur": 2}`) + "/rates.json"
		for command, about := range map[string]string{
			"plan": "the next writes of the operator cannot be computed",
			"diff": "the next writes of the operator cannot be computed",
			"rbac": "it cannot be rendered", "notes": "its notes cannot be rendered",
		} {
			args := []string{command, "shop", "--as=" + user, "--input", rates}
			Eventually(ctx, func() result { return fairlead(ctx, namespace, args...) }).Should(And(HaveField("Code", 3),
				HaveField("Err", And(
					HavePrefix("fairlead: component.fairlead.io/shop: "+about+": spec.inputs[1] (size): "),
					ContainSubstring("cannot get resource \"configmaps\""), HaveSuffix("; give it with --input size=FILE\n")))),
				command)
			size := "size=" + folder("size", "large") + "/size"
			r := fairlead(ctx, namespace, append(slices.Clone(args), "--input", size)...)
			Expect(r.Err).To(BeEmpty(), command)
		}
	})

	It("are sent to a function only as the identity of the component may read them, and the "+
		"command names them", func(ctx SpecContext) {
		server := newRecorder(function.Handler(generator.GeneratorFunc(
			func(context.Context, generator.Request) ([]client.Object, error) { return nil, nil }), function.HandlerOptions{}))
		namespace, other := tenantNamespace(ctx), newNamespace(ctx)
		for in, marker := range map[string]string{namespace: openMarker, other: vaultMarker} {
			Expect(k8s.Create(ctx, &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Namespace: in, Name: "size"}, Data: map[string]string{"size": marker},
			})).To(Succeed())
		}
		size := &v1alpha1.ObjectInput{APIVersion: "v1", Kind: "ConfigMap", Namespace: other, Name: "size", Field: "data"}
		c := &v1alpha1.Component{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop"}}
		c.Spec.Generator, c.Spec.Function = "Function", &v1alpha1.FunctionGenerator{URL: server.URL}
		c.Spec.Inputs = []v1alpha1.Input{
			{Name: "rates", Poll: &v1alpha1.PollInput{URL: "https://rates.example.com/"}}, {Name: "size", Object: size},
		}
		Expect(k8s.Create(ctx, c)).To(Succeed())
		rates := "rates=" + folder("rates.json", `{"eur": 2}`) + "/rates.json"
		rbac := func() result {
			return fairlead(ctx, namespace, "rbac", "shop", "--call-functions", "--input", rates)
		}
		Expect(fairlead(ctx, namespace, "rbac", "shop").Err).To(
			ContainSubstring("values of the component, the input rates, the input size of ConfigMap " + other +
				"/size, all read as "))
		Eventually(ctx, rbac).Should(And(HaveField("Code", 3), HaveField("Err", And(
			ContainSubstring(`configmaps "size" is forbidden: User "system:serviceaccount:`+namespace+`:fairlead"`),
			HaveSuffix("; give it with --input size=FILE\n")))))
		Expect(server.received()).To(BeEmpty())
		c.Spec.Inputs[1].Object.Namespace = ""
		Expect(k8s.Update(ctx, c)).To(Succeed())
		Eventually(ctx, rbac).Should(HaveField("Code", 0))
		Expect(strings.Join(server.received(), "")).To(And(ContainSubstring(openMarker), Not(ContainSubstring(vaultMarker))))
	})

	It("are named by export, which leaves them out", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		withInputs(ctx, namespace, pricesFolder())
		r := fairlead(ctx, namespace, "export", "shop")
		Expect(r.Code).To(Equal(0))
		Expect(r.Err).To(And(
			ContainSubstring("ConfigMap size is not included, but this component reads it as the input size\n"),
			ContainSubstring("Secret "+namespace+"/caller is not included; create it in the other cluster"),
		))
	})
}))

var _ = Describe("inputs of a folder", func() {
	It("are given with their places", func(ctx SpecContext) {
		dir, given := pricesFolder(), folder("rates.json", `{"eur": 2}`, "size", "large")
		args := []string{"--input", "rates=" + given + "/rates.json", "--input", "size:size=" + given + "/size"}
		r := run(ctx, append([]string{"fairlead", "render", dir}, args...)...)
		Expect(r).To(And(HaveField("Code", 0), HaveField("Err", ""), HaveField("Out", ContainSubstring("rate: 2 large"))))
		r = run(ctx, append([]string{"fairlead", "render", dir, "--raw", "--set", "size=small"}, args...)...)
		Expect(r).To(And(HaveField("Code", 0), HaveField("Out", ContainSubstring("rate: 2 small"))))
		r = run(ctx, append([]string{"fairlead", "rbac", "shop", "--dir", dir, "-n", "apps"}, args...)...)
		Expect(r).To(And(HaveField("Code", 0),
			HaveField("Err", HavePrefix("warning: the roles have no rights to read the objects of spec.inputs"))))
		Expect(rulesOf(r.Out)).To(ContainElement("apps/component-shop configmaps: get,create,patch,delete"))
		r = run(ctx, "fairlead", "render", dir, "--input", "rates:a.b=nowhere")
		Expect(r).To(And(HaveField("Code", 2), HaveField("Err", ContainSubstring("--input rates:a.b=nowhere"))))
		for _, command := range [][]string{{"render", dir}, {"rbac", "shop", "--dir", dir, "-n", "apps"}} {
			arguments := slices.Concat([]string{"fairlead"}, command, args,
				[]string{"--input", "lower:size.a=" + given + "/size"})
			Expect(run(ctx, arguments...)).To(And(HaveField("Code", 2), HaveField("Err", HavePrefix(
				"fairlead: --input: spec.inputs[2]: its path size.a overlaps with the path size of input size; choose "+
					"another path\n"))))
		}
	})
})
