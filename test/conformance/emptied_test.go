package conformance_test

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("Maps that lose all their entries:", func() {
	definition := func(group string) string {
		const fields = "other: {type: string}, free: {type: object, x-kubernetes-preserve-unknown-fields: true}, " +
			"maybe: {type: object, nullable: true, additionalProperties: {type: string}}, list: {type: array, items: {type: " +
			"string}}, labels: {type: object, additionalProperties: {type: string}}, " +
			"meta: {type: object, properties: {labels: {type: object, additionalProperties: {type: string}}}}, " +
			"pools: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, " +
			"required: [name], " +
			"properties: {name: {type: string}, labels: {type: object, additionalProperties: {type: string}}}}}, " +
			"inner: {type: object, properties: {other: {type: string}, labels: {type: object, default: {x: z}, " +
			"additionalProperties: {type: string}}}}, " +
			"set: {type: array, x-kubernetes-list-type: set, items: {type: string}}, " +
			"maybes: {type: array, nullable: true, items: {type: string}}, " +
			"named: {type: object, additionalProperties: {type: object, additionalProperties: {type: string}}}, " +
			"maybeNamed: {type: object, additionalProperties: {type: object, nullable: true, additionalProperties: " +
			"{type: string}}}, " +
			"atomic: {type: array, items: {type: object, properties: {labels: {type: object, additionalProperties: {type: " +
			"string}}}}}, " +
			"holder: {type: object, required: [set], properties: {set: {type: array, x-kubernetes-list-type: set, items: " +
			"{type: string}}}}"
		return fmt.Sprintf("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n"+
			"metadata: {name: widgets.%[1]s}\n"+
			"spec:\n  group: %[1]s\n  names: {kind: Widget, plural: widgets}\n  scope: Namespaced\n  versions:\n"+
			"  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: "+
			"object, properties: {%[2]s}}}}}}\n",
			group, fields)
	}
	instance := func(group, spec, policy string) string {
		return fmt.Sprintf("apiVersion: %s/v1\nkind: Widget\nmetadata: {name: one, annotations: {%s}}\nspec: {%s}", group,
			updatePolicy(policy), spec)
	}
	type object = map[string]any

	for _, policy := range updatePolicies {
		DescribeTable("the entries are removed, with the update policy "+policy+":",
			func(ctx SpecContext, full, emptied string, want any) {
				namespace, group := newNamespace(ctx), newGroup()
				g := newGadget(ctx, namespace, "app", together(definition(group), instance(group, full, policy)))
				expectReady(ctx, g)

				changed := together(definition(group), instance(group, emptied, policy))
				if policy != "replace" {
					forecast, err := foresee(ctx, current(ctx, g), changed)
					Expect(err).NotTo(HaveOccurred())
					Expect(forecast.Waiting).NotTo(ContainElement(HaveField("Failed", true)))
				}
				changeManifests(ctx, g, changed)
				expectReady(ctx, g)
				after := mustGet(ctx, group+"/v1", "Widget", namespace, "one")
				Expect(after.Object["spec"]).To(Equal(want))

				By("not writing it again")
				mark := markAudit(ctx)
				requestPass(ctx, g, operatorName)
				Expect(inNamespace(requestsSince(ctx, mark, operatorName), namespace).Resource("widgets").Writes()).To(BeEmpty())
			},
			Entry("a map beside another field", "other: x, labels: {a: b}", "other: x, labels: {}",
				object{"other": "x", "labels": object{}}),
			Entry("a map that is the only field", "labels: {a: b}", "labels: {}", object{"labels": object{}}),
			Entry("a map in a map", "other: x, meta: {labels: {a: b}}", "other: x, meta: {labels: {}}",
				object{"other": "x", "meta": object{"labels": object{}}}),
			Entry("a map of an item", "pools: [{name: a, labels: {a: b}}]", "pools: [{name: a, labels: {}}]",
				object{"pools": []any{object{"name": "a", "labels": object{}}}}),
			Entry("a map in a field that keeps unknown fields", "free: {deep: {a: 1}}", "free: {deep: {}}",
				object{"free": object{"deep": object{}}}),
			Entry("a map that may be null", "maybe: {a: b}", "maybe: {}", object{"maybe": object{}}),
			Entry("a map, by null", "other: x, labels: {a: b}", "other: x, labels: null", object{"other": "x"}),
			Entry("a list, by null", "other: x, list: [a]", "other: x, list: null", object{"other": "x"}),
			Entry("a text, by null", "other: x, labels: {}", "other: null, labels: {}", object{"labels": object{}}),
			Entry("a map of an item, by null", "pools: [{name: a, labels: {a: b}}]", "pools: [{name: a, labels: null}]",
				object{"pools": []any{object{"name": "a"}}}),
			Entry("an atomic list", "other: x, list: [a]", "other: x, list: []", object{"other": "x", "list": []any{}}),
			Entry("a set", "other: x, set: [a]", "other: x, set: []", object{"other": "x", "set": []any{}}),
			Entry("a list with keys", "other: x, pools: [{name: a}]", "other: x, pools: []",
				object{"other": "x", "pools": []any{}}),
			Entry("a set that is required", "holder: {set: [a]}", "holder: {set: []}", object{"holder": object{"set": []any{}}}),
			Entry("a list that may be null", "other: x, maybes: [a]", "other: x, maybes: []",
				object{"other": "x", "maybes": []any{}}),
			Entry("a map under a free key", "named: {a.b/c: {x: z}, d: {e: f}}", "named: {a.b/c: {}, d: {e: f}}",
				object{"named": object{"a.b/c": object{}, "d": object{"e": "f"}}}),
			Entry("a map under a free key that may be null", "maybeNamed: {a.b/c: {x: z}}", "maybeNamed: {a.b/c: {}}",
				object{"maybeNamed": object{"a.b/c": object{}}}),
			Entry("a map of an item of an atomic list", "atomic: [{labels: {a: b}}]", "atomic: [{labels: {}}]",
				object{"atomic": []any{object{"labels": object{}}}}),
			Entry("a list in a field that keeps unknown fields", "free: {list: [{a: 1}]}", "free: {list: []}",
				object{"free": object{"list": []any{}}}),
			Entry("an item in a field that keeps unknown fields", "free: {list: [{a: 1}]}", "free: {list: [{}]}",
				object{"free": object{"list": []any{object{}}}}),
			Entry("a field that keeps unknown fields", "other: x, free: {a: 1}", "other: x, free: {}",
				object{"other": "x", "free": object{}}),
			Entry("fields that are null from the start", "other: x, labels: null, list: null, meta: {labels: null}",
				"other: z, labels: null, list: null, meta: {labels: null}",
				object{"other": "z", "meta": object{}}),
		)

		It("an applied object without an empty map of its manifest is written once, with the update policy "+
			policy, func(ctx SpecContext) {
			namespace := newNamespace(ctx)
			mark := markAudit(ctx)
			g := newGadget(ctx, namespace, "app",
				"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one, labels: {}, annotations: {"+updatePolicy(policy)+
					"}}\ndata: {}")
			expectReady(ctx, g)
			Expect(inNamespace(requestsSince(ctx, mark, operatorName), namespace).Resource("configmaps").Writes()).To(HaveLen(1))
		})
	}
})
