package conformance_test

import (
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/test/gadget"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

// copiedField is an object whose second manifest drops or changes a field of which the API server has a copy.
type copiedField struct {
	kind, name    string
	before, after string
	path          []string
	want          types.GomegaMatcher
}

// copiedFields are such objects. The manifests are those of both revisions.
func copiedFields(policy string) []copiedField {
	metadata := func(name string) string {
		return fmt.Sprintf("metadata: {name: %s, annotations: {%s}}", name, updatePolicy(policy))
	}
	deployment := func(name, account string) string {
		return fmt.Sprintf(
			`{apiVersion: apps/v1, kind: Deployment, %s, spec: {replicas: 0, selector: {matchLabels: {a: b}}, `+
				`template: {metadata: {labels: {a: b}}, spec: {%s containers: [{name: a, image: "x:1"}]}}}}`,
			metadata(name), account)
	}
	cronJob := func(account string) string {
		return fmt.Sprintf(`{apiVersion: batch/v1, kind: CronJob, %s, spec: {schedule: "1 1 1 1 *", jobTemplate: {spec: `+
			`{template: {spec: {%s restartPolicy: Never, containers: [{name: a, image: "x:1"}]}}}}}}`,
			metadata("nightly"), account)
	}
	autoscaler := func(name, version, spec string) string {
		return fmt.Sprintf("{apiVersion: autoscaling/%s, kind: HorizontalPodAutoscaler, %s, "+
			"spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: none}, %s}}", version,
			metadata(name), spec)
	}
	metric := func(name string) string {
		return "{type: Resource, resource: {name: " + name + ", target: {type: Utilization, averageUtilization: 70}}}"
	}
	network := func(name, rules string) string {
		return fmt.Sprintf("{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, %s, spec: {podSelector: {}, %s}}",
			metadata(name), rules)
	}
	account, directions := []string{"spec", "template", "spec"}, []string{"spec", "policyTypes"}
	none := And(Not(HaveKey("serviceAccountName")), Not(HaveKey("serviceAccount")))
	other := And(HaveKeyWithValue("serviceAccountName", "b"), HaveKeyWithValue("serviceAccount", "b"))
	return []copiedField{
		{"Deployment", "removed", deployment("removed", "serviceAccountName: x,"), deployment("removed", ""), account, none},
		{
			"Deployment", "deprecated", deployment("deprecated", "serviceAccount: x,"), deployment("deprecated", ""),
			account, none,
		},
		{
			"Deployment", "changed", deployment("changed", "serviceAccount: x,"), deployment("changed", "serviceAccount: b,"),
			account, other,
		},
		{
			"Deployment", "renamed", deployment("renamed", "serviceAccountName: x,"),
			deployment("renamed", "serviceAccount: b,"), account, other,
		},
		{
			"CronJob", "nightly", cronJob("serviceAccountName: x,"), cronJob(""),
			[]string{"spec", "jobTemplate", "spec", "template", "spec"},
			none,
		},
		{
			"HorizontalPodAutoscaler", "older", autoscaler("older", "v2", "metrics: ["+metric("memory")+", "+metric("cpu")+"]"),
			autoscaler("older", "v1", "targetCPUUtilizationPercentage: 50"),
			[]string{"spec", "metrics"},
			HaveExactElements(HaveKeyWithValue("resource", HaveKeyWithValue("name", "cpu"))),
		},
		{
			"NetworkPolicy", "opened", network("opened", "ingress: []"), network("opened", "egress: [{}]"), directions,
			HaveExactElements("Ingress", "Egress"),
		},
		{
			"NetworkPolicy", "filled", network("filled", "egress: []"), network("filled", "egress: [{}]"), directions,
			HaveExactElements("Ingress", "Egress"),
		},
		{
			"NetworkPolicy", "closed", network("closed", "egress: [{}]"), network("closed", "ingress: [{}]"), directions,
			HaveExactElements("Ingress"),
		},
		{
			"NetworkPolicy", "given", network("given", "policyTypes: [Egress]"), network("given", "ingress: [{}]"), directions,
			HaveExactElements("Ingress"),
		},
		{
			"NetworkPolicy", "kept", network("kept", "egress: [{}]"), network("kept", "policyTypes: [Egress]"), directions,
			HaveExactElements("Egress"),
		},
		{
			"Service", "web",
			fmt.Sprintf("{apiVersion: v1, kind: Service, %s, spec: {ports: [{port: 80, protocol: ''}]}}", metadata("web")),
			fmt.Sprintf("{apiVersion: v1, kind: Service, %s, spec: {ports: [{port: 80, protocol: '', targetPort: 81}]}}",
				metadata("web")),
			[]string{"spec", "ports"},
			Equal([]any{mapping{"port": int64(80), "protocol": "TCP", "targetPort": int64(81)}}),
		},
		{
			"Service", "node",
			fmt.Sprintf("{apiVersion: v1, kind: Service, %s, spec: {type: NodePort, ports: [{port: 80}]}}", metadata("node")),
			fmt.Sprintf("{apiVersion: v1, kind: Service, %s, spec: {type: NodePort, selector: {a: b}, ports: [{port: 80}]}}",
				metadata("node")),
			[]string{"spec", "ports"},
			HaveExactElements(HaveKey("nodePort")),
		},
	}
}

var _ = Describe("Copies that the API server keeps:", func() {
	versions := map[string]string{
		"Deployment": "apps/v1", "CronJob": "batch/v1", "HorizontalPodAutoscaler": "autoscaling/v2", "Service": "v1",
		"NetworkPolicy": "networking.k8s.io/v1",
	}
	for _, policy := range inPlacePolicies {
		It("the copy of a removed field goes away, and what the API server assigned stays, with the update policy "+
			policy, func(ctx SpecContext) {
			namespace := newNamespace(ctx)
			rows := copiedFields(policy)
			var gadgets []*gadget.Gadget
			for i, c := range rows {
				gadgets = append(gadgets, newGadget(ctx, namespace, fmt.Sprintf("app-%d", i), c.before))
			}
			applied := func(c copiedField, text string) func(Gomega) {
				return func(g Gomega) {
					live, err := get(ctx, versions[c.kind], c.kind, namespace, c.name)
					g.Expect(err).NotTo(HaveOccurred())
					g.Expect(field(live, c.path...)).To(c.want, text)
				}
			}
			for i, c := range rows {
				By(c.kind + " " + c.name)
				if c.kind != "HorizontalPodAutoscaler" {
					expectReady(ctx, gadgets[i])
				} else {
					Eventually(ctx, func() error {
						_, err := get(ctx, versions[c.kind], c.kind, namespace, c.name)
						return err
					}).Should(Succeed())
				}
				before := mustGet(ctx, versions[c.kind], c.kind, namespace, c.name).GetGeneration()
				changeManifests(ctx, gadgets[i], c.after)
				Eventually(ctx, applied(c, "after the change")).Should(Succeed())
				if c.kind == "Deployment" {
					expectReady(ctx, gadgets[i])
					Expect(mustGet(ctx, versions[c.kind], c.kind, namespace, c.name).GetGeneration()).To(Equal(before+1),
						"the template must change once")
				}
			}
		})
	}

	It("the copy of another manager stays", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		row := copiedFields("ssa-override")[0]
		g := newGadget(ctx, namespace, "app", row.before)
		expectReady(ctx, g)
		theirs := &unstructured.Unstructured{Object: mapping{
			"apiVersion": "apps/v1", "kind": "Deployment", "metadata": mapping{"name": row.name, "namespace": namespace},
			"spec": mapping{"template": mapping{"spec": mapping{"serviceAccount": "x"}}},
		}}
		Expect(k8s.Apply(ctx, client.ApplyConfigurationFromUnstructured(theirs), client.FieldOwner("accounts"))).To(Succeed())
		changeManifests(ctx, g, row.after)
		expectReady(ctx, g)
		Expect(field(mustGet(ctx, "apps/v1", "Deployment", namespace, row.name), row.path...)).
			To(HaveKeyWithValue("serviceAccountName", "x"))
	})

	It("a derived default that another manager set stays", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		network := func(rules string) string {
			return fmt.Sprintf("{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: web, "+
				"annotations: {%s}}, "+
				"spec: {podSelector: {}, %s}}", updatePolicy("ssa-override"), rules)
		}
		g := newGadget(ctx, namespace, "app", network("ingress: []"))
		expectReady(ctx, g)
		patchAs(ctx, "person", mustGet(ctx, "networking.k8s.io/v1", "NetworkPolicy", namespace, "web"),
			`{"spec": {"policyTypes": ["Ingress", "Egress"]}}`)
		changeManifests(ctx, g, network("ingress: [{}]"))
		Eventually(ctx, func() any {
			return field(mustGet(ctx, "networking.k8s.io/v1", "NetworkPolicy", namespace, "web"), "spec", "ingress")
		}).Should(Equal([]any{mapping{}}))
		Expect(field(mustGet(ctx, "networking.k8s.io/v1", "NetworkPolicy", namespace, "web"), "spec", "policyTypes")).
			To(HaveExactElements("Ingress", "Egress"))
	})

	It("a NetworkPolicy whose directions do not change costs one write, also after a restart", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		network := func(rules string) string {
			return "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: web}, spec: {podSelector: {}, " +
				rules + "}}"
		}
		stop := runOperator(operator, operatorOptions{})
		g := newGadget(ctx, namespace, "app", network("ingress: []"), servedBy(operator))
		expectReady(ctx, g)
		settle(ctx, operator)
		stop()
		runOperator(operator, operatorOptions{})
		verbsOf := func(rules string) []string {
			GinkgoHelper()
			settle(ctx, operator)
			mark := markAudit(ctx)
			changeManifests(ctx, g, network(rules))
			expectReady(ctx, g)
			var verbs []string
			for _, r := range requestsSince(ctx, mark, operator).
				Where(func(r testcluster.Event) bool { return r.Name == "web" }) {
				verbs = append(verbs, r.Verb)
			}
			return verbs
		}
		Expect(verbsOf("ingress: [{}]")).To(Equal([]string{"patch"}))
		Expect(verbsOf("egress: [{}]")).To(Equal([]string{"get", "patch", "patch"}))
		Expect(verbsOf("egress: [{ports: [{port: 53}]}]")).To(Equal([]string{"patch"}))
	})

	It("a change of other fields costs one write, and a removed field two more requests", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		row := copiedFields("ssa-override")[0]
		g := newGadget(ctx, namespace, "app", row.before)
		expectReady(ctx, g)
		verbsOf := func(text string) []string {
			GinkgoHelper()
			settle(ctx, operatorName)
			mark := markAudit(ctx)
			changeManifests(ctx, g, text)
			expectReady(ctx, g)
			var verbs []string
			for _, r := range requestsSince(ctx, mark, operatorName).
				Where(func(r testcluster.Event) bool { return r.Name == row.name }) {
				verbs = append(verbs, r.Verb)
			}
			return verbs
		}
		Expect(verbsOf(strings.Replace(row.before, "x:1", "x:2", 1))).To(Equal([]string{"patch"}))
		Expect(verbsOf(row.after)).To(Equal([]string{"get", "patch", "patch"}))
		Expect(verbsOf(strings.Replace(row.after, "x:1", "x:3", 1))).To(Equal([]string{"patch"}))
	})
})
