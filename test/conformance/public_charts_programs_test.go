//go:build programs

package conformance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/helm"
	"github.com/fairlead-io/fairlead/pkg/generator/kustomize"
	"github.com/fairlead-io/fairlead/test/gadget"
)

// publicChart is a chart in a public Go module. The go command downloads the module; charts of others are never
// committed.
type publicChart struct {
	module, version string
	// sum is the checksum of the module, as in a file go.sum.
	sum string
	// folder is the folder of the chart in the module.
	folder string
}

var (
	// nginxIngress is the chart nginx-ingress 0.10.5. Its Service is a load balancer.
	nginxIngress = publicChart{
		module: "github.com/nginxinc/kubernetes-ingress", version: "v1.12.5",
		sum: "h1:egdbo3EpK6Nf74wZMickEYAnRF6s9Eu3sPTmW8uJB20=", folder: "deployments/helm-chart",
	}
	// externalDNS is the chart external-dns 1.16.1.
	externalDNS = publicChart{
		module: "sigs.k8s.io/external-dns", version: "v0.17.0",
		sum: "h1:lBhJmGWvezR/HZcIAW6j8fVw2LczXFEGs5BluUMmFaM=", folder: "charts/external-dns",
	}
)

// download downloads the module with the go command, and returns the folder of the chart.
func (c publicChart) download(ctx context.Context) fs.FS {
	GinkgoHelper()
	command := exec.CommandContext(ctx, "go", "mod", "download", "-json", c.module+"@"+c.version)
	command.Dir = GinkgoT().TempDir()
	var output, warnings bytes.Buffer
	command.Stdout, command.Stderr = &output, &warnings
	err := command.Run()
	Expect(err).NotTo(HaveOccurred(), "%s%s", &output, &warnings)
	var module struct{ Dir, Sum string }
	Expect(json.Unmarshal(output.Bytes(), &module)).To(Succeed())
	Expect(module.Sum).To(Equal(c.sum))
	return os.DirFS(filepath.Join(module.Dir, c.folder))
}

// render returns a generator for the chart with its own values.
func (c publicChart) render(ctx context.Context, operator string) generator.Part {
	GinkgoHelper()
	chart, err := helm.New(c.download(ctx), helm.Options{AnnotationPrefix: operator})
	Expect(err).NotTo(HaveOccurred())
	unchanged := func(context.Context, generator.Request) (map[string]any, error) { return nil, nil }
	return generator.Part{
		Name: c.module, Generator: generator.WithParameters(chart, generator.ParameterTransformerFunc(unchanged)),
	}
}

// The names of both Deployments, and of the Service of the ingress controller, in a release with the name edge.
const dns, ingress = "edge-external-dns", "edge-nginx-ingress"

// edgePatches are the patches that bind both charts to each other. A nil patch is left out.
type edgePatches struct {
	// class replaces the version of the IngressClass, which Kubernetes 1.22 removed.
	class *kustomize.Patch
	// address exports the address of the load balancer.
	address *kustomize.Patch
	// order lets external-dns wait for the load balancer, and target gives it the address.
	order, target *kustomize.Patch
	// follow lets the ingress controller wait for external-dns, and roll out again after each roll-out of external-dns.
	follow *kustomize.Patch
}

func newEdgePatches(operator string) edgePatches {
	merge := func(apiVersion, kind, name, settings, more string) *kustomize.Patch {
		return &kustomize.Patch{Patch: fmt.Sprintf(
			"apiVersion: %s\nkind: %s\nmetadata: {name: %s, annotations: {%s}}\n%s", apiVersion, kind, name, settings, more)}
	}
	return edgePatches{
		class: &kustomize.Patch{
			Target: &kustomize.Target{Kind: "IngressClass"},
			Patch:  "[{op: replace, path: /apiVersion, value: networking.k8s.io/v1}]",
		},
		address: merge("v1", "Service", ingress,
			settingOf(operator, "export", "ingressAddress=self.status.loadBalancer.ingress[0].ip"), ""),
		order: merge("apps/v1", "Deployment", dns, settingOf(operator, "depends-on", "Service "+ingress)+", "+
			settingOf(operator, "export", "dnsRollout=self.status.observedGeneration")+", "+
			settingOf(operator, "bind", "true"), ""),
		target: &kustomize.Patch{
			Target: &kustomize.Target{Kind: "Deployment", Name: dns},
			Patch: "[{op: add, path: /spec/template/spec/containers/0/args/-, " +
				"value: '--default-targets=${{ ingressAddress }}'}]",
		},
		follow: merge("apps/v1", "Deployment", ingress, settingOf(operator, "depends-on", "Deployment.apps "+dns)+", "+
			settingOf(operator, "bind", "true"),
			"spec: {template: {metadata: {annotations: {example.com/dns-rollout: '${{ dnsRollout }}'}}}}"),
	}
}

func (p edgePatches) transformer() generator.Transformer {
	GinkgoHelper()
	var patches []kustomize.Patch
	for _, patch := range []*kustomize.Patch{p.class, p.address, p.order, p.target, p.follow} {
		if patch != nil {
			patches = append(patches, *patch)
		}
	}
	transformer, err := kustomize.NewTransformer(kustomize.Changes{Patches: patches})
	Expect(err).NotTo(HaveOccurred())
	return transformer
}

// expectOrder checks that the first writes of each kind happened in the order that is given.
func expectOrder(writes []string, want ...string) {
	GinkgoHelper()
	Expect(writes).To(ContainElements(want))
	inOrder := slices.IsSortedFunc(want, func(a, b string) int { return indexOf(writes, a) - indexOf(writes, b) })
	Expect(inOrder).To(BeTrue(), "want %v in this order, got %v", want, writes)
}

var _ = Describe("Public charts:", func() {
	var namespace, operator string
	var patches edgePatches
	BeforeEach(func(ctx SpecContext) {
		namespace, operator = newNamespace(ctx), newOperatorName()
		patches = newEdgePatches(operator)
	})
	// install installs both charts as a component with the patches.
	install := func(ctx context.Context) *gadget.Gadget {
		GinkgoHelper()
		charts := generator.Merge(nginxIngress.render(ctx, operator), externalDNS.render(ctx, operator))
		runOperator(operator, operatorOptions{generate: generator.Chain(charts, patches.transformer())})
		g := newGadget(ctx, namespace, "edge", "unused", servedBy(operator))
		DeferCleanup(func(ctx SpecContext) {
			Expect(client.IgnoreNotFound(k8s.Delete(ctx, g))).To(Succeed())
			expectNotFound(ctx, g)
		})
		return g
	}
	assign := func(ctx context.Context, ip string) {
		GinkgoHelper()
		Eventually(ctx, func(g Gomega) {
			service, err := get(ctx, "v1", "Service", namespace, ingress)
			g.Expect(err).NotTo(HaveOccurred())
			service.Object["status"] = map[string]any{
				"loadBalancer": map[string]any{"ingress": []any{map[string]any{"ip": ip}}},
			}
			g.Expect(k8s.Status().Update(ctx, service)).To(Succeed())
		}).Should(Succeed())
	}
	deployments := func(ctx context.Context) []string {
		GinkgoHelper()
		var names []string
		for _, name := range []string{dns, ingress} {
			if _, err := get(ctx, "apps/v1", "Deployment", namespace, name); err == nil {
				names = append(names, name)
			}
		}
		return names
	}
	awaits := func(ctx context.Context, g *gadget.Gadget, name, reason string) {
		GinkgoHelper()
		waiting := func() []metav1alpha1.DependentReport { return current(ctx, g).Status.Waiting }
		Eventually(ctx, waiting).Should(ContainElement(
			And(HaveField("Dependent", "Deployment.apps "+namespace+"/"+name), HaveField("Reason", reason))))
	}
	// bound returns the deviations from the state in which both charts contain the values of each other.
	bound := func(ctx context.Context, ip, rollout string) []string {
		GinkgoHelper()
		var deviations []string
		name := mustGet(ctx, "apps/v1", "Deployment", namespace, dns)
		controller := mustGet(ctx, "apps/v1", "Deployment", namespace, ingress)
		containers, _, _ := unstructured.NestedSlice(name.Object, "spec", "template", "spec", "containers")
		first, _ := containers[0].(map[string]any)
		args, _, _ := unstructured.NestedStringSlice(first, "args")
		if !slices.Contains(args, "--default-targets="+ip) || !slices.Contains(args, "--provider=aws") {
			deviations = append(deviations, fmt.Sprintf("%s has the arguments %s", dns, args))
		}
		got, _, _ := unstructured.NestedString(controller.Object,
			"spec", "template", "metadata", "annotations", "example.com/dns-rollout")
		if got != rollout {
			deviations = append(deviations, fmt.Sprintf("%s follows the roll-out %q", ingress, got))
		}
		return deviations
	}
	updates := func(ctx context.Context, mark auditMark) []string {
		GinkgoHelper()
		return writesIn(ctx, mark, operator, namespace)
	}

	It("patches alone order the objects of two charts, and bind them to the status of each other", func(ctx SpecContext) {
		g := install(ctx)
		awaits(ctx, g, dns, "ExportMissing")
		awaits(ctx, g, ingress, "ExportMissing")
		settle(ctx, operator)
		Expect(deployments(ctx)).To(BeEmpty(), "no Deployment is applied before the address is known")

		assign(ctx, "10.0.0.1")
		expectReady(ctx, g)
		Expect(bound(ctx, "10.0.0.1", "1")).To(BeEmpty())
		creates := updates(ctx, 0)
		expectOrder(creates, "create services/"+ingress, "create deployments/"+dns, "create deployments/"+ingress)

		settle(ctx, operator)
		mark := markAudit(ctx)
		assign(ctx, "10.0.0.2")
		Eventually(ctx, func() []string { return bound(ctx, "10.0.0.2", "2") }).Should(BeEmpty())
		expectReady(ctx, g)
		settle(ctx, operator)
		inOrder := []string{"update deployments/" + dns, "update deployments/" + ingress}
		Expect(updates(ctx, mark)).To(Equal(inOrder))
		Expect(current(ctx, g).Status.Revision).To(Equal(int64(1)))

		mark = markAudit(ctx)
		remove(ctx, g)
		expectNotFound(ctx, g)
		deletes := updates(ctx, mark)
		expectOrder(deletes, "delete deployments/"+ingress, "delete deployments/"+dns, "delete services/"+ingress)
	})

	It("without the patch that binds the address, external-dns is applied before the "+
		"address is known", func(ctx SpecContext) {
		patches.target = nil
		g := install(ctx)
		expectReady(ctx, g)
		Expect(deployments(ctx)).To(ConsistOf(dns, ingress))
		assign(ctx, "10.0.0.1")
		settle(ctx, operator)
		Expect(bound(ctx, "10.0.0.1", "1")).To(ConsistOf(HavePrefix(dns + " has the arguments ")))
	})

	It("without the patch that binds the roll-out, the ingress controller waits for nothing", func(ctx SpecContext) {
		patches.follow = nil
		g := install(ctx)
		awaits(ctx, g, dns, "ExportMissing")
		Eventually(ctx, func() []string { return deployments(ctx) }).Should(ConsistOf(ingress))
		assign(ctx, "10.0.0.1")
		expectReady(ctx, g)
		Expect(bound(ctx, "10.0.0.1", "1")).To(ConsistOf(HavePrefix(ingress + " follows the roll-out ")))
	})

	It("without the patch that exports the address, nothing is applied", func(ctx SpecContext) {
		patches.address = nil
		g := install(ctx)
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, "ingressAddress")
		Expect(updates(ctx, 0)).To(BeEmpty())
	})

	It("a chart with a version that Kubernetes removed waits, and the message says "+
		"how to continue", func(ctx SpecContext) {
		patches.class = nil
		g := install(ctx)
		expectCondition(ctx, g, metav1alpha1.ConditionReady,
			"IngressClass.networking.k8s.io is not served in version v1beta1; "+
				"write an apiVersion and a kind that this Kubernetes serves")
	})
})
