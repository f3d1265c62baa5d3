package main

import (
	"fmt"
	"strings"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// yamlBomb returns a YAML text that is small, and large, deep or endless when it is decoded.
func (a *attack) yamlBomb() string {
	depth := min(a.power(6), 200_000)
	var aliases strings.Builder
	aliases.WriteString("a0: &a0 [x]\n")
	for i := range 5 + a.IntN(40) {
		fmt.Fprintf(&aliases, "a%d: &a%d [*a%d, *a%d, *a%d]\n", i+1, i+1, i, i, i)
	}
	return a.one(
		aliases.String(), "a: &a [*a]\n", "a: &a {b: *a}\n", "a: &a {<<: *a}\n", nested("[", "", "]", depth), nested("{a: ", "b", "}", depth),
		"a: ["+strings.Repeat("{},", depth)+"]\n", strings.Repeat("- ", depth)+"a\n", strings.Repeat("a: b\n---\n", depth/10),
		"? "+nested("[", "", "]", depth)+"\n: b\n", "a: !!binary "+strings.Repeat("A", depth)+"\n",
		strings.Repeat("? a\n", depth), "a: "+strings.Repeat("9", depth)+"\n", "a: 1e"+strings.Repeat("9", depth)+"\n",
		strings.Repeat("a", depth)+": b\n", "a: |\n"+strings.Repeat(" b\n", depth), strings.Repeat("&a ", depth)+"b\n",
		strings.Repeat("!!map ", depth)+"{}\n", strings.Repeat("%TAG ! a\n", depth/10)+"---\na: b\n", "\x00\xff\xfe",
		fmt.Sprintf("a: &a {%s}\nb: [%s]\n", strings.Repeat("c: d, ", 500), strings.Repeat("{<<: *a}, ", 500)),
	)
}

func (a *attack) jsonBomb() string {
	depth := min(a.power(6), 200_000)
	return a.one(
		nested("[", "", "]", depth), nested(`{"a":`, "1", "}", depth), "["+strings.Repeat("{},", depth)+"1]",
		strings.Repeat("[", depth), `{"`+strings.Repeat("a", depth)+`":[`+strings.Repeat("1,", depth)+"1]}",
		"1e"+strings.Repeat("9", depth), `"`+strings.Repeat(`\u0000`, depth/6)+`"`,
	)
}

func (a *attack) tomlBomb() string {
	depth := min(a.power(5), 50_000)
	return a.one(
		"a = "+nested("[", "", "]", depth), "["+strings.TrimSuffix(strings.Repeat("a.", depth), ".")+"]\n",
		strings.TrimSuffix(strings.Repeat("a.", depth), ".")+" = 1\n", strings.Repeat("[[a]]\n", depth),
		"a = "+nested("{a = ", "1", "}", depth), "a = ["+strings.Repeat("{},", depth)+"]\n",
	)
}

// annotations returns the settings of a manifest, as metadata in YAML's flow style.
func (a *attack) annotations() string {
	var orders []string
	for i := range min(a.power(5), 40_000) {
		orders = append(orders, fmt.Sprint(i))
	}
	list := strings.Join(orders, ",")
	var unknown strings.Builder
	for i := range min(a.power(4), 5000) {
		fmt.Fprintf(&unknown, ", fairlead.io/a%d: b", i)
	}
	return ", annotations: {a: b, " + a.one(
		"fairlead.io/order: '"+list+"', fairlead.io/update-policy: recreate",
		"fairlead.io/order: '"+list+"', fairlead.io/purge-order: '"+list+"'",
		"fairlead.io/phase: '"+strings.Repeat("apply,", len(orders))+"pre-delete'",
		"fairlead.io/phase: '"+strings.Repeat("pre-delete,post-delete,", 20)+"apply'",
		"a: b"+unknown.String(), "fairlead.io/status-hint: 'conditions="+strings.Repeat("A;", len(orders))+"B'",
		"fairlead.io/reapply-interval: 1ns", "fairlead.io/timeout: 1ns, fairlead.io/purge-failed: 'true'",
		"fairlead.io/order: '"+strings.Repeat("9", len(orders))+"'", "fairlead.io/owner-id: a, fairlead.io/digest: b",
		"helm.sh/hook: '"+strings.Repeat("pre-install,", len(orders))+"test'", "fairlead.io/reapply-interval: 2540400h10m",
		"fairlead.io/update-policy: '"+strings.Repeat("a", len(orders))+"'",
	) + "}"
}

// textKinds are manifests, values and post-renderers that are hard to decode, to copy or to compare.
func textKinds() []kind {
	return []kind{
		{"manifest bomb", func(a *attack) { a.template(a.yamlBomb()) }},
		{"manifest settings", func(a *attack) {
			data := "b: c"
			if a.IntN(2) == 0 {
				data = "{{ range until " + fmt.Sprint(min(20000, a.power(5))) + " }}k{{ . }}: v, {{ end }}b: c"
			}
			a.template(configMap("a", a.annotations(), data))
		}},
		{"manifest metadata", func(a *attack) {
			length := min(a.power(6), 500_000)
			a.template(a.one(
				configMap(strings.Repeat("a", length), "", ""), configMap("a", ", labels: {a: "+strings.Repeat("b", length)+"}", ""),
				configMap("a", ", ownerReferences: ["+strings.Repeat("{}, ", length/10)+"]", ""),
				configMap("a", ", finalizers: [example.com/never]", ""), configMap("a", ", namespace: kube-system", ""),
				configMap("a", ", namespace: "+goodNamespace, ""), configMap("a", ", managedFields: [{}], uid: a, generation: -1", ""),
				"{apiVersion: "+strings.Repeat("a/", length)+", kind: B, metadata: {name: c}}",
				"{apiVersion: v1, kind: List, items: "+nested("[{apiVersion: v1, kind: List, items: ", "[]", "}]", min(length, 400))+"}",
				"{apiVersion: v1, kind: Secret, metadata: {name: phases-"+strings.Repeat("a", 40)+"-b-0}}",
			))
		}},
		{"manifest types", func(a *attack) {
			a.template(a.one(
				"{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a}, spec: {group: a, names: {kind: '*'}}}",
				"{apiVersion: v1, kind: Namespace, metadata: {name: stolen}}",
				"{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: a}, "+
					"roleRef: {kind: ClusterRole, name: cluster-admin, apiGroup: rbac.authorization.k8s.io}}",
				"{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.}, spec: {group: '', version: v1}}",
				"{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {ports: [{port: 70000}]}}",
				"{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {template: {spec: {restartPolicy: Never, "+
					"containers: [{name: a, image: b}]}}}}",
			))
		}},
		{"values bomb", func(a *attack) {
			a.template(configMap("a", "", "b: {{ toJson .Values | sha256sum }}"))
			length := min(a.power(6), 600_000)
			a.values(a.one(
				`{"`+strings.Repeat("a", length)+`":[`+strings.Repeat("1,", min(length, 200_000))+`1]}`,
				`{"a":`+nested(`{"`+strings.Repeat("b", 60)+`":`, "1", "}", min(length, 9000))+`}`,
				`{"a":`+nested("[", "", "]", min(length, 9000))+`}`, `{"a":[`+strings.Repeat("{},", length/3)+`1]}`,
				`{"a":1e400}`, `{"a":`+strings.Repeat("9", length)+`}`, `{"a":"`+strings.Repeat(`\u0000`, length/6)+`"}`,
			))
		}},
		{"values from", func(a *attack) {
			a.template(configMap("a", "", "b: {{ toJson .Values | sha256sum }}"))
			a.valuesFrom(a.yamlBomb())
		}},
		{"post-renderer", func(a *attack) {
			a.template(configMap("a", ", labels: {a: b}", "b: c"))
			target := &v1alpha1.PatchTarget{Kind: "ConfigMap"}
			var double strings.Builder
			for i := range 5 + a.IntN(40) {
				fmt.Fprintf(&double, "{op: copy, from: /data, path: /data/a%d}, ", i)
			}
			patch := a.one(a.yamlBomb(), "["+double.String()+"]", "data: "+a.yamlBomb(), nested("metadata: {labels: {a: ", "b", "}}", 1),
				"[{op: add, path: /"+strings.Repeat("a/", 10000)+", value: 1}]", "$patch: delete")
			switch a.IntN(4) {
			case 0:
				target.Name = a.one("((a{100}){100}){100}", nested("(", "a", ")*", 60), "(", "[a-")
			case 1:
				target.LabelSelector = a.one("a in ("+strings.Repeat("b,", 400)+"c)", "!", "a=b=c")
			}
			renderer := &v1alpha1.KustomizePostRenderer{Patches: []v1alpha1.KustomizePatch{{Patch: patch, Target: target}}}
			a.spec.PostRenderers = []v1alpha1.PostRenderer{{Kustomize: renderer}}
		}},
	}
}
