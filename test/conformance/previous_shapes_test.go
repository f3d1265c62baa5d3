package conformance_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing/fstest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/component/eventsource"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/helm"
	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/test/gadget"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

// previousShape is the recorded state of a gadget that an operator of an older version reconciled, read from a file in
// testdata/takeover. Its inventory is in its status, and has the format of that version. A comment in the file names
// it.
type previousShape struct {
	name, operator, namespace string
	// home and remote are the recorded ids of the gadget's cluster and of the target cluster. remote is empty if the
	// dependents are in the gadget's cluster.
	home, remote        string
	gadget              *unstructured.Unstructured
	dependents, records []*unstructured.Unstructured
}

func readPreviousShape(name string, replace ...string) previousShape {
	GinkgoHelper()
	text, err := os.ReadFile("testdata/takeover/" + name + ".yaml")
	Expect(err).NotTo(HaveOccurred())
	objects, err := manifests.Decode(name+".yaml", []byte(strings.NewReplacer(replace...).Replace(string(text))))
	Expect(err).NotTo(HaveOccurred())
	s := previousShape{name: name, operator: "takeover-" + name + ".test.fairlead.io", namespace: "takeover-" + name}
	for _, o := range objects {
		switch {
		case o.GetKind() == "Namespace" && o.GetName() == metav1.NamespaceSystem:
			s.home = string(o.GetUID())
		case o.GetKind() == "Namespace":
			s.remote = string(o.GetUID())
		case o.GetKind() == "Gadget":
			s.gadget = o
		case o.GetKind() == "Secret" && o.GetLabels()[s.operator+"/held"] != "":
			s.records = append(s.records, o)
		default:
			s.dependents = append(s.dependents, o)
		}
	}
	return s
}

// ownerID returns the owner id of the gadget in a cluster.
func (s previousShape) ownerID(cluster string) string {
	sum := sha256.Sum256([]byte(cluster + "/" + s.operator + "/gadgets.example.com/Gadget/" + s.namespace + "/app"))
	return hex.EncodeToString(sum[:20])
}

// target is the cluster of the dependents. kubeconfig is empty if it is the gadget's cluster.
type target struct {
	client.Client
	kubeconfig []byte
}

// restore creates the recorded objects: the gadget and its records in this cluster, and the dependents in the target,
// all of them with the UIDs of these clusters.
func (s previousShape) restore(ctx context.Context, to target) *gadget.Gadget {
	GinkgoHelper()
	bare := s.gadget.DeepCopy()
	for _, field := range []string{"uid", "deletionTimestamp", "deletionGracePeriodSeconds", "generation"} {
		unstructured.RemoveNestedField(bare.Object, "metadata", field)
	}
	unstructured.RemoveNestedField(bare.Object, "status")
	unstructured.RemoveNestedField(bare.Object, "spec", "suspend")
	for _, c := range slices.CompactFunc([]client.Client{
		k8s,
		to.Client,
	}, func(a, b client.Client) bool { return a == b }) {
		Expect(c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}})).To(Succeed())
	}
	DeferCleanup(s.removeNamespace)
	Expect(k8s.Create(ctx, bare)).To(Succeed())
	home := idOf(ctx, k8s)
	replace := []string{
		s.ownerID(s.home), s.ownerID(home), s.home, home, string(s.gadget.GetUID()), string(bare.GetUID()),
	}
	if s.remote != "" {
		replace = append(replace, s.remote, idOf(ctx, to))
	}
	live := readPreviousShape(s.name, replace...)

	uids := live.restoreDependents(ctx, to)
	for _, record := range live.records {
		record.SetUID("")
		if record.GetName() == "far" {
			Expect(unstructured.SetNestedField(record.Object, map[string]any{"value": string(to.kubeconfig)}, "stringData")).
				To(Succeed())
		}
		Expect(k8s.Apply(ctx, client.ApplyConfigurationFromUnstructured(record), client.FieldOwner(s.operator))).To(Succeed())
	}
	g, restored := &gadget.Gadget{}, &gadget.Gadget{}
	Expect(k8s.Get(ctx, client.ObjectKeyFromObject(bare), g)).To(Succeed())
	Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(live.gadget.Object, restored)).To(Succeed())
	if g.Spec.Suspend = restored.Spec.Suspend; g.Spec.Suspend {
		Expect(k8s.Update(ctx, g)).To(Succeed())
	}
	g.Status = restored.Status
	Expect(previousDigest(g.Status.Inventory)).To(Equal(g.Status.InventoryDigest))
	for i, line := range g.Status.Inventory {
		g.Status.Inventory[i] = strings.NewReplacer(uids...).Replace(line)
	}
	g.Status.InventoryDigest = previousDigest(g.Status.Inventory)
	if s.remote == "" {
		g.Status.Lookups = previousLookups(ctx, g.Status.Lookups)
		g.Status.LookupsDigest = previousLookupsDigest(g.Status.Lookups...)
	}
	Expect(k8s.Status().Update(ctx, g)).To(Succeed())
	if restored.DeletionTimestamp != nil {
		remove(ctx, g)
	}
	Expect(current(ctx, g).Generation).To(Equal(restored.Generation))
	return g
}

// removeNamespace deletes the namespace of the gadget, with all that a spec left there, so that another spec can
// restore the same record.
func (s previousShape) removeNamespace(ctx context.Context) {
	GinkgoHelper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}
	remove(ctx, namespace)
	Eventually(ctx, func(g Gomega) {
		for _, list := range []client.ObjectList{&gadget.GadgetList{}, &corev1.SecretList{}, &corev1.ConfigMapList{}} {
			g.Expect(k8s.List(ctx, list, client.InNamespace(s.namespace))).To(Succeed())
			g.Expect(meta.EachListItem(list, func(o runtime.Object) error {
				held, ok := o.(client.Object)
				if !ok || len(held.GetFinalizers()) == 0 {
					return nil
				}
				return client.IgnoreNotFound(k8s.Patch(ctx, held,
					client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))))
			})).To(Succeed())
		}
		g.Expect(apierrors.IsNotFound(k8s.Get(ctx, client.ObjectKeyFromObject(namespace), namespace))).To(BeTrue())
	}).Should(Succeed())
}

// restoreDependents creates the recorded dependents, and returns pairs of recorded and new UIDs. It deletes dependents
// with a foreign finalizer, which were being deleted.
func (s previousShape) restoreDependents(ctx context.Context, to target) (uids []string) {
	GinkgoHelper()
	for _, o := range s.dependents {
		recorded, held := string(o.GetUID()), len(o.GetFinalizers()) > 0
		o.SetUID("")
		o.SetFinalizers(nil)
		Expect(to.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), client.FieldOwner(s.operator))).To(Succeed())
		uids = append(uids, recorded, string(o.GetUID()))
		if held {
			hold(ctx, o)
			remove(ctx, o)
		}
	}
	for _, o := range s.dependents {
		if o.GetKind() == "Job" {
			Eventually(ctx, func() any {
				completed, _, _ := unstructured.NestedInt64(mustGet(ctx, "batch/v1", "Job", s.namespace, o.GetName()).Object,
					"status", "succeeded")
				return completed
			}).Should(Equal(int64(1)))
		}
	}
	return uids
}

// previousLookups returns recorded look-ups with the digests of the live objects as the previous version computed them.
// The digest of a looked-up object covers its UID.
func previousLookups(ctx context.Context, recorded []string) (lines []string) {
	GinkgoHelper()
	for _, line := range recorded {
		lookup, err := metav1alpha1.ParseLookup(line)
		Expect(err).NotTo(HaveOccurred())
		if lookup.State == metav1alpha1.LookupFound {
			content := mustGet(ctx, lookup.Version, lookup.Kind, lookup.Namespace, lookup.Name).Object
			unstructured.RemoveNestedField(content, "metadata", "resourceVersion")
			unstructured.RemoveNestedField(content, "metadata", "managedFields")
			line = strings.Replace(line, lookup.Digest, previousDigest(content), 1)
		}
		lines = append(lines, line)
	}
	return lines
}

// idOf returns the id of a cluster.
func idOf(ctx context.Context, c client.Client) string {
	GinkgoHelper()
	system := &corev1.Namespace{}
	Expect(c.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, system)).To(Succeed())
	return string(system.UID)
}

// previousChart renders the manifests of a gadget as a chart with hooks. It has the version of the recorded renderings.
type previousChart struct{ prefix string }

func (previousChart) Version() string { return "1.0.0" }

func (c previousChart) Generate(ctx context.Context, req generator.Request) ([]client.Object, error) {
	text, _ := req.Parameters["manifests"].(string)
	rendered, err := helm.New(fstest.MapFS{
		"Chart.yaml":         {Data: []byte("{apiVersion: v2, name: app, version: 1.0.0}")},
		"templates/all.yaml": {Data: []byte(text)},
	}, helm.Options{AnnotationPrefix: c.prefix})
	if err != nil {
		return nil, err
	}
	req.Parameters = nil
	return rendered.Generate(ctx, req)
}

var _ = Describe("Components of each shape that the previous version of the operator reconciled:", slow, func() {
	// takeOverWith restores a shape, runs an operator and makes two passes. It returns the gadget.
	takeOverWith := func(ctx context.Context, name string, to target, o operatorOptions) (s previousShape, g *gadget.Gadget,
		mark auditMark,
	) {
		GinkgoHelper()
		awaitDefinitions(ctx) // The capabilities of the cluster are an input of the chart.
		s = readPreviousShape(name)
		g = s.restore(ctx, to)
		mark = markAudit(ctx)
		before := passes(s.operator)
		o.generate = previousChart{s.operator}
		runOperator(s.operator, o)
		Eventually(ctx, func() int { return passes(s.operator) }).Should(BeNumerically(">", before))
		settle(ctx, s.operator)
		requestPass(ctx, g, s.operator)
		settle(ctx, s.operator)
		return s, g, mark
	}
	takeOver := func(ctx context.Context, name string, to target) (previousShape, *gadget.Gadget, auditMark) {
		GinkgoHelper()
		return takeOverWith(ctx, name, to, operatorOptions{})
	}
	here := func() target { return target{Client: k8s} }
	// written returns the writes to dependents in this cluster.
	written := func(ctx context.Context, s previousShape, mark auditMark) []string {
		GinkgoHelper()
		return slices.DeleteFunc(story(ctx, mark, s.operator, s.namespace), func(step string) bool {
			return strings.Contains(
				step, " secrets/")
		})
	}

	It("a component of the operator's previous version with hooks of a chart is taken over without a write to a "+
		"dependent, and its hooks run at its next revision and its deletion", func(ctx SpecContext) {
		s, g, mark := takeOver(ctx, "hooks", here())
		expectReady(ctx, g)
		Expect(written(ctx, s, mark)).To(BeEmpty())
		Expect(current(ctx, g).Status.Revision).To(Equal(int64(1)))
		Expect(s.gadget.Object["status"]).NotTo(HaveKey("appliedGeneration"), "the previous version did not record it")
		Expect(current(ctx, g).Status.AppliedGeneration).To(Equal(current(ctx, g).Generation))

		By("upgrading")
		mark = markAudit(ctx)
		changeManifests(ctx, g, strings.Replace(current(ctx, g).Spec.Manifests, `value: "a"`, `value: "b"`, 1))
		expectReady(ctx, g)
		Expect(written(ctx, s, mark)).To(And(
			ContainElements("patch jobs/prepare", "patch configmaps/settings", "patch jobs/purged", "delete jobs/purged"),
			Not(ContainElement(HaveSuffix("configmaps/password")))))

		By("deleting")
		mark = markAudit(ctx)
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(written(ctx, s, mark)).To(ContainElements("patch jobs/clean", "patch jobs/always", "patch jobs/last"))
		Expect(records(ctx, s.namespace)).To(BeEmpty())
	})

	// A version before status.askedExports recorded these components. The absent field is no change of the rendering.
	for shape, looksUp := range map[string]bool{"lookups": true, "plain": false} {
		It(fmt.Sprintf("a component that a version without status.askedExports recorded is taken over without a write to a "+
			"dependent, with look-ups: %t", looksUp), func(ctx SpecContext) {
			s, g, mark := takeOver(ctx, shape, here())
			expectReady(ctx, g)
			Expect(written(ctx, s, mark)).To(BeEmpty())
			status := current(ctx, g).Status
			Expect(status.AskedExports).To(BeEmpty())
			Expect(status.Revision).To(Equal(int64(1)))
			Expect(status.Rendition).To(BeZero(), "the rendering counts as the recorded one")
			if looksUp {
				By("changing the looked-up object")
				patch(ctx, newConfigMap(s.namespace, "source"), `{"data":{"value":"b"}}`)
				Eventually(ctx, func() any { return content(ctx, "ConfigMap", s.namespace, "copy")["value"] }).Should(Equal("b"))
				expectReady(ctx, g)
				Expect(written(ctx, s, mark)).To(Equal([]string{"patch configmaps/copy"}))
				Expect(current(ctx, g).Status.Revision).To(Equal(int64(1)))
			}
		})
	}

	It("a component of the version before the number of the record and the hashes of immutable fields is taken over "+
		"without a write to a dependent, and gets both with its next change", func(ctx SpecContext) {
		s, g, mark := takeOver(ctx, "immutable", here())
		expectReady(ctx, g)
		Expect(written(ctx, s, mark)).To(BeEmpty())
		Expect(notesOf(ctx, s.namespace, "RecordChanged")).To(BeEmpty())
		taken := current(ctx, g)
		Expect(s.gadget.Object["status"]).NotTo(Or(HaveKey("inventoryWrites"), HaveKey("recordDigest")))
		Expect(taken.Status.Inventory).To(And(HaveLen(7), HaveEach(Not(ContainSubstring(" im=")))))
		Expect(taken.Status.Revision).To(Equal(int64(1)))
		Expect(taken.Status.Rendition).To(BeZero(), "the rendering counts as the recorded one")

		By("upgrading")
		mark = markAudit(ctx)
		changeManifests(ctx, g, strings.ReplaceAll(taken.Spec.Manifests, "replicas: 0",
			"replicas: 0\n  revisionHistoryLimit: 3"))
		Eventually(ctx, func() int64 { return current(ctx, g).Status.Revision }).Should(Equal(int64(2)))
		expectReady(ctx, g)
		Expect(written(ctx, s, mark)).To(ConsistOf("patch statefulsets/db", "patch deployments/web"))
		taken = current(ctx, g)
		Expect(taken.Status.InventoryWrites).To(BeNumerically(">", 0))
		Expect(taken.Status.RecordDigest).NotTo(BeEmpty())
		Expect(taken.Status.Inventory).To(ContainElements(
			And(ContainSubstring("Deployment"), ContainSubstring(" im=")),
			And(ContainSubstring("StatefulSet"), ContainSubstring(" im="))))

		By("refusing a changed immutable field before the first write")
		changeManifests(ctx, g, strings.NewReplacer("app: web", "app: other", `value: "a"`, `value: "b"`).
			Replace(taken.Spec.Manifests))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(HavePrefix("True InvalidManifests"),
			ContainSubstring("spec.selector")))
		Expect(content(ctx, "ConfigMap", s.namespace, "settings")).To(HaveKeyWithValue("value", "a"))

		By("deleting")
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(records(ctx, s.namespace)).To(BeEmpty())
	})

	It("a component of the version before externals, with exported and bound values, dependencies, conditions and an "+
		"observed object, is taken over without a write", func(ctx SpecContext) {
		s, g, mark := takeOver(ctx, "flow", here())
		expectReady(ctx, g)
		Expect(story(ctx, mark, s.operator, s.namespace)).To(BeEmpty())
		status := current(ctx, g).Status
		Expect(status.Revision).To(Equal(int64(1)))
		Expect(status.Rendition).To(BeZero(), "the rendering counts as the recorded one")
		Expect(status.Observed).To(HaveLen(1))
		Expect(configMapExists(ctx, s.namespace, "excluded")).To(BeFalse())

		By("changing the exported value")
		changeManifests(ctx, g, strings.Replace(current(ctx, g).Spec.Manifests, `value: "a"`, `value: "b"`, 1))
		Eventually(ctx, func() any { return content(ctx, "ConfigMap", s.namespace, "bound")["both"] }).
			Should(Equal("b-given"))
		Eventually(ctx, func() bool { return configMapExists(ctx, s.namespace, "extra") }).Should(BeFalse())
		expectReady(ctx, g)
		Expect(configMapExists(ctx, s.namespace, "excluded")).To(BeTrue())

		By("deleting")
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(configMapExists(ctx, s.namespace, "later")).To(BeFalse())
		Expect(content(ctx, "ConfigMap", s.namespace, "given")).To(HaveKeyWithValue("value", "given"), "it belongs to others")
		Expect(records(ctx, s.namespace)).To(BeEmpty())
	})

	It("a component of the version before externals, with a group, a binding of a Secret, a prune policy, an ignored "+
		"field and two orders, is taken over without a write", func(ctx SpecContext) {
		s, g, mark := takeOver(ctx, "graph", here())
		expectReady(ctx, g)
		Expect(story(ctx, mark, s.operator, s.namespace)).To(BeEmpty())
		taken := current(ctx, g)
		Expect(taken.Status.Revision).To(Equal(int64(1)))
		Expect(taken.Status.Rendition).To(BeZero(), "the rendering counts as the recorded one")
		Expect(taken.Status.Observed).To(HaveLen(1))
		Expect(strings.Join(taken.Status.Inventory, "\n")).To(And(
			ContainSubstring("og=members"), ContainSubstring("pp=at-once"), ContainSubstring("!oc@v0.1=2"),
			ContainSubstring("!on@v0.1=@members")))

		By("changing the value of the observed Secret")
		patch(ctx, mustGet(ctx, "v1", "Secret", s.namespace, "given"), `{"stringData":{"password":"other"}}`)
		credentials := &corev1.Secret{}
		Eventually(ctx, func() string {
			Expect(k8s.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: "credentials"}, credentials)).To(Succeed())
			return string(credentials.Data["url"])
		}).Should(Equal("db://other@db"))
		settle(ctx, s.operator)
		Expect(story(ctx, mark, s.operator, s.namespace)).To(Equal([]string{"patch secrets/credentials"}))

		By("changing the manifests, without an object, while another object is not ready")
		before, temporary, found := strings.Cut(taken.Spec.Manifests,
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: temporary")
		Expect(found).To(BeTrue())
		_, after, found := strings.Cut(temporary, "---\n")
		Expect(found).To(BeTrue())
		changed := strings.ReplaceAll(before+after, `value: "a"`, `value: "b"`)
		changeManifests(ctx, g, together(changed, heldDeployment("held")))
		Eventually(ctx, func() bool { return configMapExists(ctx, s.namespace, "temporary") }).Should(BeFalse())
		expectCondition(ctx, g, metav1alpha1.ConditionReady, And(HavePrefix("False"), ContainSubstring("held")))
		Expect(content(ctx, "ConfigMap", s.namespace, "last")).To(HaveKeyWithValue("value", "a"), "a later wave")
		changeManifests(ctx, g, changed)
		expectReady(ctx, g)
		Expect(content(ctx, "ConfigMap", s.namespace, "last")).To(HaveKeyWithValue("value", "b"))
		Expect(content(ctx, "ConfigMap", s.namespace, "shared")).To(And(HaveKeyWithValue("value", "b"),
			HaveKeyWithValue("theirs", "changed")))
		settle(ctx, s.operator)
		Expect(written(ctx, s, mark)).NotTo(ContainElement(ContainSubstring("jobs/twice")), "its orders are complete")

		By("deleting")
		mark = markAudit(ctx)
		remove(ctx, g)
		expectNotFound(ctx, g)
		deleted := story(ctx, mark, s.operator, s.namespace)
		Expect(deleted).To(ContainElements("delete jobs/twice", "delete secrets/credentials", "delete configmaps/member"))
		Expect(indexOf(deleted, "delete configmaps/after")).
			To(BeNumerically("<", indexOf(deleted, "delete configmaps/member")))
		Expect(mustGet(ctx, "v1", "Secret", s.namespace, "given").GetDeletionTimestamp()).To(BeNil(), "it belongs to others")
		Expect(records(ctx, s.namespace)).To(BeEmpty())
	})

	// These versions knew no applied generation, no other field owner and finalizer, and no event sources.
	newNames := func() operatorOptions {
		polled := eventsource.Polling[*gadget.Gadget]("polled",
			time.Second, func(context.Context) (map[client.ObjectKey]string, error) {
				return map[client.ObjectKey]string{}, nil
			})
		return operatorOptions{
			component: component.Options{
				Names: component.Names{FieldOwner: "takeover-writer", Finalizer: "example.com/takeover"},
			}, built: withSources(polled),
		}
	}
	for _, shape := range []string{"plain", "lookups", "hooks"} {
		It(fmt.Sprintf("a component of a version without the applied generation is taken over under another field owner and "+
			"finalizer without a write to a dependent, with the record %s", shape), func(ctx SpecContext) {
			s, g, mark := takeOverWith(ctx, shape, here(), newNames())
			expectReady(ctx, g)
			Expect(written(ctx, s, mark)).To(BeEmpty())
			taken := current(ctx, g)
			Expect(s.gadget.Object["status"]).NotTo(HaveKey("appliedGeneration"))
			Expect(s.gadget.GetFinalizers()).To(Equal([]string{s.operator + "/finalizer"}))
			Expect(taken.Finalizers).To(Equal([]string{"example.com/takeover"}))
			Expect(taken.Status.AppliedGeneration).To(Equal(taken.Generation))
			Expect(taken.Status.Revision).To(Equal(int64(1)))
			Expect(taken.Status.Rendition).To(BeZero())

			By("writing the dependent that changes under the new field owner")
			mark = markAudit(ctx)
			changeManifests(ctx, g, strings.Replace(taken.Spec.Manifests, `value: "a"`, `value: "b"`, 1))
			expectReady(ctx, g)
			Expect(current(ctx, g).Status.AppliedGeneration).To(Equal(current(ctx, g).Generation))
			Expect(written(ctx, s, mark)).To(ContainElement("patch configmaps/settings"))
			settings := mustGet(ctx, "v1", "ConfigMap", s.namespace, "settings")
			Expect(settings.GetManagedFields()).To(HaveEach(HaveField("Manager", "takeover-writer")))

			By("deleting")
			remove(ctx, g)
			expectNotFound(ctx, g)
			Expect(records(ctx, s.namespace)).To(BeEmpty())
		})
	}

	It("a deletion that the operator's previous version began continues under another finalizer without a write "+
		"to a dependent", func(ctx SpecContext) {
		s, g, mark := takeOverWith(ctx, "deleting", here(), newNames())
		Expect(current(ctx, g).Status.State).To(Equal(metav1alpha1.StateDeleting))
		Expect(written(ctx, s, mark)).To(BeEmpty())
		letGo(ctx, mustGet(ctx, "v1", "ConfigMap", s.namespace, "held"))
		expectNotFound(ctx, g)
		Expect(written(ctx, s, mark)).To(Equal([]string{"patch jobs/last", "delete jobs/last"}))
		Expect(records(ctx, s.namespace)).To(BeEmpty())
	})

	It("a suspended component of the operator's previous version is not written, and is resumed without a write "+
		"to a dependent", func(ctx SpecContext) {
		s, g, mark := takeOver(ctx, "suspended", here())
		Expect(current(ctx, g).Status.State).To(Equal(metav1alpha1.StateSuspended))
		Expect(story(ctx, mark, s.operator, s.namespace)).To(BeEmpty())
		change(ctx, g, func(g *gadget.Gadget) { g.Spec.Suspend = false })
		expectReady(ctx, g)
		Expect(story(ctx, mark, s.operator, s.namespace)).To(BeEmpty())
		Expect(current(ctx, g).Status.Revision).To(Equal(int64(1)))
	})

	It("a deletion that the operator's previous version began continues without a write to a dependent, and does not "+
		"repeat its phase pre-delete", func(ctx SpecContext) {
		s, g, mark := takeOver(ctx, "deleting", here())
		Expect(current(ctx, g).Status.State).To(Equal(metav1alpha1.StateDeleting))
		Expect(written(ctx, s, mark)).To(BeEmpty())
		letGo(ctx, mustGet(ctx, "v1", "ConfigMap", s.namespace, "held"))
		expectNotFound(ctx, g)
		Expect(written(ctx, s, mark)).To(Equal([]string{"patch jobs/last", "delete jobs/last"}))
		Expect(records(ctx, s.namespace)).To(BeEmpty())
	})

	It("a component of the operator's previous version with a target in another cluster is taken over without a write "+
		"to a dependent", func(ctx SpecContext) {
		remote := testcluster.StartFor(GinkgoTB(), testcluster.Options{Audit: true, NoControllers: true})
		there, err := client.New(remote.Config(), client.Options{Scheme: k8s.Scheme()})
		Expect(err).NotTo(HaveOccurred())
		const name = "takeover"
		user, err := remote.User(ctx, name)
		Expect(err).NotTo(HaveOccurred())
		Expect(there.Create(ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}},
		})).To(Succeed())
		kubeconfig, err := os.ReadFile(user.Kubeconfig)
		Expect(err).NotTo(HaveOccurred())
		writes := func(ctx context.Context) []string {
			GinkgoHelper()
			events, err := remote.AuditEvents(ctx)
			Expect(err).NotTo(HaveOccurred())
			return tale(events.User(name), "takeover-kubeconfig")
		}

		s, g, mark := takeOver(ctx, "kubeconfig", target{Client: there, kubeconfig: kubeconfig})
		expectReady(ctx, g)
		Expect(writes(ctx)).To(BeEmpty())
		Expect(written(ctx, s, mark)).To(BeEmpty())
		Expect(current(ctx, g).Status.Revision).To(Equal(int64(1)))

		By("updating and deleting the dependents")
		changeManifests(ctx, g, strings.Replace(current(ctx, g).Spec.Manifests, `value: "a"`, `value: "c"`, 1))
		expectReady(ctx, g)
		Expect(writes(ctx)).To(Equal([]string{"update configmaps/settings"}))
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(writes(ctx)[1:]).To(ConsistOf("delete configmaps/settings", "delete configmaps/other"))
	})
})
