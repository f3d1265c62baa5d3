package tenancy_test

import (
	"context"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

const (
	allEngines   = "gotemplate helm kustomize"
	allFunctions = "add add1 add1f addf biggest ceil dict div divf eq float64 floor int int64 ipFromInt max maxf " +
		"min minf mod " +
		"mul mulf mustSlice ne slice sub subf toDecimal"
	metadata = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n"
	nested   = "nest more than 1000 deep"
	itself   = "the value contains the map itself"
	nodes    = "maps, lists, values and keys"
)

// template returns the files of a source whose template is rendered by an engine.
func template(engine, text string) map[string]string {
	switch engine {
	case "helm":
		return chart(text)
	case "kustomize":
		return map[string]string{".fairlead-kustomize.yaml": "", "kustomization.yaml": "resources: [a.yaml]", "a.yaml": text}
	}
	return map[string]string{"a.yaml": text}
}

// chart returns the files of a chart with one template.
func chart(text string) map[string]string {
	return map[string]string{"Chart.yaml": "{apiVersion: v2, name: a, version: 1.0.0}", "templates/a.yaml": text}
}

// call returns a template that calls a function with a map that contains itself.
func call(function string) string {
	arguments := map[string]string{
		"add1": ".Values", "add1f": ".Values", "ceil": ".Values", "float64": ".Values", "floor": ".Values", "int": ".Values",
		"int64": ".Values", "ipFromInt": ".Values", "toDecimal": ".Values",
		"eq": ".Values .Values", "ne": ".Values .Values", "slice": "(list 1 2) .Values", "mustSlice": "(list 1 2) .Values",
	}[function]
	if arguments == "" {
		arguments = ".Values 1"
	}
	return metadata + `data: {a: {{ $_ := set .Values "a" .Values }}{{ ` + function + " " + arguments + ` }}}`
}

// touchAll changes the values of all components of a namespace.
func touchAll(ctx context.Context, namespace string) {
	GinkgoHelper()
	list := &v1alpha1.ComponentList{}
	Expect(mallory.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
	for i := range list.Items {
		again := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"values":{"again":true}}}`))
		Expect(mallory.Patch(ctx, &list.Items[i], again)).To(Succeed())
	}
}

// overflow calls functions in templates of engines with a map that contains itself, and restarts the operator.
func overflow(ctx context.Context, engines, functions string) {
	GinkgoHelper()
	namespace := newTenancy(ctx)
	for engine := range strings.FieldsSeq(engines) {
		for function := range strings.FieldsSeq(functions) {
			if engine == "helm" && function == "ipFromInt" {
				continue // Helm has no such function.
			}
			name := strings.ToLower(engine + "-" + function)
			attack(ctx, newComponent(namespace, name, template(engine, call(function))))
		}
	}
	expectEach(ctx, namespace, nested, itself, "cannot be compared")

	By("restarting the operator while these components exist")
	restart(ctx)
	touchAll(ctx, namespace)
	expectEach(ctx, namespace, nested, itself, "cannot be compared")
}

var _ = Describe("A tenant who writes templates", func() {
	unharmed()

	It("does not overflow the stack of the operator by a map that contains itself, also "+
		"after a restart", func(ctx SpecContext) {
		overflow(ctx, *enginesFlag, *functionsFlag)
	}, SpecTimeout(5*time.Minute))
	if *eachFlag {
		for engine := range strings.FieldsSeq(*enginesFlag) {
			for function := range strings.FieldsSeq(*functionsFlag) {
				It("alone: "+engine+" "+function, func(ctx SpecContext) { overflow(ctx, engine, function) },
					SpecTimeout(5*time.Minute))
			}
		}
	}

	It("does not overflow the stack of the operator by nested actions of a text that tpl executes", func(ctx SpecContext) {
		namespace := newTenancy(ctx)
		for engine := range strings.FieldsSeq(*enginesFlag) {
			attack(ctx, newComponent(namespace, engine, template(engine, "{{ tpl (repeat 1000000 `{{ if 1 }}`) . }}")))
		}
		expectEach(ctx, namespace, "actions nest more than 1000 deep")
	}, SpecTimeout(5*time.Minute))

	It("does not exhaust the memory of the operator by a text that becomes millions of nodes", func(ctx SpecContext) {
		namespace := newTenancy(ctx)
		for engine := range strings.FieldsSeq(*enginesFlag) {
			attack(ctx, newComponent(namespace, engine, template(engine, `x: [{{ repeat 5000000 "{}," }}]`)))
		}
		expectEach(ctx, namespace, nodes)
	}, SpecTimeout(5*time.Minute))

	It("does not exhaust the memory of the operator by manifests, values and schemas "+
		"with many nodes", func(ctx SpecContext) {
		namespace := newTenancy(ctx)
		wide := "x: [" + strings.Repeat("{},", 330_000) + "]"
		doubling := chart(metadata)
		doubling["values.schema.json"] = doublingSchema(31)
		defaults := chart(metadata)
		defaults["values.yaml"] = wide
		attack(ctx,
			newComponent(namespace, "manifest", map[string]string{
				"kustomization.yaml": "resources: [a.yaml]",
				"a.yaml":             metadata + wide,
			}),
			newComponent(namespace, "template", map[string]string{"a.yaml": metadata + wide}),
			newComponent(namespace, "defaults", defaults),
			newComponent(namespace, "schema", doubling))
		keep(ctx, namespace, "wide", "values.yaml", wide)
		values := newComponent(namespace, "values", map[string]string{"a.yaml": settings})
		values.Spec.ValuesFrom = []metav1alpha1.ValuesReference{{Kind: metav1alpha1.SecretReference, Name: "wide"}}
		attack(ctx, values)
		expectEach(ctx, namespace, nodes, "evaluations")
	}, SpecTimeout(5*time.Minute))

	It("does not exhaust the memory of the operator by many renderings near the limits at "+
		"the same time", func(ctx SpecContext) {
		namespace := newTenancy(ctx)
		// Each rendering contains 945,000 nodes. The invalid name ends the pass before an object is sent to the API server.
		text := `{{ range until 5 }}{{ printf "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: A_%d}\n" . }}` +
			`x: [{{ repeat 63000 "{a: 1}," }}]` + "\n{{ end }}"
		names := []string{"large-0", "large-1", "large-2"}
		for _, name := range names {
			attack(ctx, newComponent(namespace, name, template("gotemplate", text)))
		}
		for _, name := range names {
			By("waiting until " + name + " waits for memory that others use, or is decided")
			Eventually(ctx, func() (bool, error) {
				found, err := status(ctx, namespace, name)()
				return found != "" || operator.lackedMemory(namespace, name), err
			}).Should(BeTrue())
		}
	}, SpecTimeout(5*time.Minute))

	It("does not overflow the stack of the operator by deep YAML, JSON, patches, "+
		"schemas and values", func(ctx SpecContext) {
		namespace := newTenancy(ctx)
		const many = 20_000
		deepYAML, deepJSON := "x: "+strings.Repeat("[", many), strings.Repeat(`{"a":`, many)
		kustomization := func(field string) map[string]string {
			return map[string]string{
				"kustomization.yaml": "resources: [a.yaml]\n" + field, "a.yaml": metadata,
				"deep.yaml": deepYAML, "deep.json": deepJSON,
			}
		}
		deepSchema := chart(metadata)
		deepSchema["values.schema.json"] = strings.Repeat(`{"not":`, many)
		attack(ctx,
			newComponent(namespace, "yaml", map[string]string{"a.yaml": metadata + deepYAML}),
			newComponent(namespace, "rendered", chart(metadata+`x: {{ repeat 1000000 "[" }}`)),
			newComponent(namespace, "decoded", chart(`{{ fromJson (repeat 1000000 "[") }}`)),
			newComponent(namespace, "merge", kustomization("patches: [{path: deep.yaml}]")),
			newComponent(namespace, "json-patch", kustomization("patches: [{path: deep.json, target: {kind: ConfigMap}}]")),
			newComponent(namespace, "resource", kustomization("components: [deep.yaml]")),
			newComponent(namespace, "schema", deepSchema))
		patched := newComponent(namespace, "patched", map[string]string{"a.yaml": metadata})
		patched.Spec.PostRenderers = []v1alpha1.PostRenderer{{Kustomize: &v1alpha1.KustomizePostRenderer{
			Patches: []v1alpha1.KustomizePatch{{Patch: deepJSON, Target: &v1alpha1.PatchTarget{Kind: "ConfigMap"}}},
		}}}
		keep(ctx, namespace, "deep", "values.yaml", deepYAML)
		values := newComponent(namespace, "values", map[string]string{"a.yaml": settings})
		values.Spec.ValuesFrom = []metav1alpha1.ValuesReference{{Kind: metav1alpha1.SecretReference, Name: "deep"}}
		spec := newComponent(namespace, "spec", map[string]string{"a.yaml": settings})
		spec.Spec.Values = &runtime.RawExtension{Raw: []byte(strings.Repeat(`{"a":`, 5000) + "1" + strings.Repeat("}", 5000))}
		attack(ctx, patched, values, spec)
		expectEach(ctx, namespace, "Stalled ")
	}, SpecTimeout(5*time.Minute))

	It("stops only the own component by a rendering that needs too much memory", func(ctx SpecContext) {
		By("giving a child process the least memory, so that a small component is enough")
		restart(ctx, "--rendering-memory-bytes=134217728")
		DeferCleanup(func(ctx SpecContext) { restart(ctx) }, NodeTimeout(time.Minute))
		namespace := newTenancy(ctx)
		c := newComponent(namespace, "hungry",
			chart(metadata+`data: {many: [{{ repeat 190000 "a," }}], long: {{ repeat 32000000 "a" }}}`))
		c.Spec.RetryDuration = &metav1.Duration{Duration: time.Second}
		attack(ctx, c)
		expectEach(ctx, namespace, "Stalled RenderingKilled: ")
	}, SpecTimeout(5*time.Minute))
})
