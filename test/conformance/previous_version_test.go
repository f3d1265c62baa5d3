package conformance_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"os"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/test/gadget"
)

// previousVersion is the recorded state of a cluster with an operator of the previous version: a gadget, its
// dependents, and the Secrets with its inventory, its pinned rendering and its deletion phases.
type previousVersion struct {
	cluster   string
	ownerID   string
	gadget    *unstructured.Unstructured
	inventory *unstructured.Unstructured
	// dependents and records are created as they were recorded, except that UIDs in the inventory are replaced.
	dependents, records []*unstructured.Unstructured
}

// inventoryKey is the data key of a Secret that contains an inventory.
const inventoryKey = "inventory.json.gz"

// readPreviousVersion reads the recorded objects, and replaces texts in them.
func readPreviousVersion(replace ...string) previousVersion {
	GinkgoHelper()
	text, err := os.ReadFile("testdata/takeover/objects.yaml")
	Expect(err).NotTo(HaveOccurred())
	objects, err := manifests.Decode("objects.yaml", []byte(strings.NewReplacer(replace...).Replace(string(text))))
	Expect(err).NotTo(HaveOccurred())
	var p previousVersion
	for _, o := range objects {
		switch {
		case o.GetKind() == "Namespace":
			p.cluster = string(o.GetUID())
		case o.GetKind() == "Gadget":
			p.gadget = o
		case strings.HasPrefix(o.GetName(), "inventory-"):
			p.inventory = o
		case strings.HasPrefix(o.GetName(), "rendered-"), strings.HasPrefix(o.GetName(), "phases-"):
			p.records = append(p.records, o)
		default:
			p.dependents = append(p.dependents, o)
		}
	}
	p.ownerID = strings.Split(p.inventory.GetName(), "-")[1]
	return p
}

// previousOwnerID returns the owner id of the gadget as the previous version computed it.
func previousOwnerID(cluster, operator string) string {
	sum := sha256.Sum256([]byte(cluster + "/" + operator + "/gadgets.example.com/Gadget/takeover/app"))
	return hex.EncodeToString(sum[:20])
}

// lines returns the lines of the inventory.
func (p previousVersion) lines() []string {
	GinkgoHelper()
	text, _, err := unstructured.NestedString(p.inventory.Object, "data", inventoryKey)
	Expect(err).NotTo(HaveOccurred())
	packed, err := base64.StdEncoding.DecodeString(text)
	Expect(err).NotTo(HaveOccurred())
	unpacked, err := gzip.NewReader(bytes.NewReader(packed))
	Expect(err).NotTo(HaveOccurred())
	var lines []string
	Expect(json.NewDecoder(unpacked).Decode(&lines)).To(Succeed())
	return lines
}

// setLines writes other lines into the Secret of the inventory, and their digest into the status.
func (p previousVersion) setLines(lines []string) {
	GinkgoHelper()
	var packed bytes.Buffer
	to := gzip.NewWriter(&packed)
	Expect(json.NewEncoder(to).Encode(lines)).To(Succeed())
	Expect(to.Close()).To(Succeed())
	text := base64.StdEncoding.EncodeToString(packed.Bytes())
	Expect(unstructured.SetNestedField(p.inventory.Object, text, "data", inventoryKey)).To(Succeed())
	Expect(unstructured.SetNestedField(p.gadget.Object, previousDigest(lines), "status", "inventoryDigest")).To(Succeed())
}

// previousLookupsDigest returns the digest of a rendering as the previous version computed it. lines are the recorded
// look-ups. This digest covers the version of the API server and its served types, which depend on the definitions of
// other specs.
func previousLookupsDigest(lines ...string) string {
	GinkgoHelper()
	server, err := discovery.NewDiscoveryClientForConfig(cluster.Config())
	Expect(err).NotTo(HaveOccurred())
	about, err := server.ServerVersion()
	Expect(err).NotTo(HaveOccurred())
	_, lists, err := server.ServerGroupsAndResources()
	Expect(err).NotTo(HaveOccurred())
	var served []string
	for _, list := range lists {
		served = append(served, list.GroupVersion)
		for _, r := range list.APIResources {
			if !strings.Contains(r.Name, "/") {
				served = append(served, list.GroupVersion+"/"+r.Kind)
			}
		}
	}
	slices.Sort(served)
	capabilities := previousDigest(struct {
		Version     *version.Info
		APIVersions []string
	}{about, slices.Compact(served)})
	return previousDigest(append([]string{capabilities}, lines...))
}

// previousDigest returns the digest of a value, such as the lines of an inventory, as the previous version computed it.
func previousDigest(value any) string {
	GinkgoHelper()
	text, err := json.Marshal(value)
	Expect(err).NotTo(HaveOccurred())
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])[:16]
}

// restorePreviousVersion creates the recorded objects in this cluster, with the UIDs of this cluster.
func restorePreviousVersion(ctx context.Context, operator string) *gadget.Gadget {
	GinkgoHelper()
	recorded := readPreviousVersion()
	Expect(previousOwnerID(recorded.cluster, operator)).To(Equal(recorded.ownerID))
	digest, _, _ := unstructured.NestedString(recorded.gadget.Object, "status", "inventoryDigest")
	Expect(previousDigest(recorded.lines())).To(Equal(digest))

	Expect(k8s.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "takeover"}})).To(Succeed())
	bare := recorded.gadget.DeepCopy()
	bare.SetUID("")
	delete(bare.Object, "status")
	Expect(k8s.Create(ctx, bare)).To(Succeed())
	home := string(mustGet(ctx, "v1", "Namespace", "", metav1.NamespaceSystem).GetUID())
	p := readPreviousVersion(recorded.cluster, home, recorded.ownerID, previousOwnerID(home, operator),
		string(recorded.gadget.GetUID()), string(bare.GetUID()))

	apply := func(o *unstructured.Unstructured) string {
		recordedUID := string(o.GetUID())
		o.SetUID("")
		Expect(k8s.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), client.FieldOwner(operator))).To(Succeed())
		return recordedUID
	}
	var uids []string
	for _, o := range p.dependents {
		recordedUID := apply(o)
		uids = append(uids, recordedUID, string(o.GetUID()))
	}
	lines := p.lines()
	for i := range lines {
		lines[i] = strings.NewReplacer(uids...).Replace(lines[i])
	}
	p.setLines(lines)
	Expect(unstructured.SetNestedField(p.gadget.Object, previousLookupsDigest(), "status", "lookupsDigest")).To(Succeed())
	for _, o := range append(p.records, p.inventory) {
		apply(o)
	}

	g, restored := &gadget.Gadget{}, &gadget.Gadget{}
	Expect(k8s.Get(ctx, client.ObjectKeyFromObject(bare), g)).To(Succeed())
	Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(p.gadget.Object, restored)).To(Succeed())
	g.Status = restored.Status
	Expect(k8s.Status().Update(ctx, g)).To(Succeed())
	return g
}

// versionedChart is a chart with a fixed version. Without a version, every new build of the program would render each
// component again.
type versionedChart struct{ *chart }

func (versionedChart) Version() string { return "1.0.0" }

var _ = Describe("Components that the previous version of the operator reconciled:", func() {
	It("a component of the operator's previous version is taken over without a write to a dependent or a record, and is "+
		"deleted with its recorded deletion phases", func(ctx SpecContext) {
		const operator = "takeover.test.fairlead.io"
		options := component.Options{Limits: component.Limits{StatusInventory: 1800}}
		awaitDefinitions(ctx) // The capabilities of the cluster are an input of the chart.
		g := restorePreviousVersion(ctx, operator)
		login := content(ctx, "Secret", g.Namespace, "login")

		mark, before := markAudit(ctx), passes(operator)
		generate := versionedChart{&chart{}}
		stop := runOperator(operator, operatorOptions{generate: generate, component: options})
		Eventually(ctx, func() int { return passes(operator) }).Should(BeNumerically(">", before))
		settle(ctx, operator)
		requestPass(ctx, g, operator)
		settle(ctx, operator)
		expectReady(ctx, g)
		Expect(story(ctx, mark, operator, g.Namespace)).To(BeEmpty())
		Expect(generate.renderings.Load()).To(BeZero(),
			"the component was rendered again, although it has a pinned rendering")
		status := current(ctx, g).Status
		Expect(status.Revision).To(Equal(int64(1)))
		Expect(status.Rendition).To(BeZero())
		Expect(inventoryOfGadget(ctx, g)).To(HaveLen(25))

		By("repairing a dependent from the pinned rendering")
		remove(ctx, mustGet(ctx, "v1", "Secret", g.Namespace, "login"))
		Eventually(ctx, func() error {
			_, err := get(ctx, "v1", "Secret", g.Namespace, "login")
			return err
		}).Should(Succeed())
		Expect(content(ctx, "Secret", g.Namespace, "login")).To(Equal(login))
		stop()

		By("deleting the component with the recorded deletion phases")
		mark = markAudit(ctx)
		remove(ctx, g)
		runOperator(operator, operatorOptions{generate: generate, component: options})
		expectNotFound(ctx, g)
		Expect(story(ctx, mark, operator, g.Namespace)).To(ContainElement("patch jobs/clean"))
		Expect(countConfigMaps(ctx, g.Namespace)).To(BeZero())
		Eventually(ctx, func() []corev1.Secret {
			return append(append(inventories(ctx, g.Namespace), records(ctx, g.Namespace)...), keptSets(ctx, g.Namespace)...)
		}).Should(BeEmpty())
	})
})
