package conformance_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"os"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/component/componenttest"
	"github.com/fairlead-io/fairlead/test/gadget"
)

// recordedExternals is a component with externals as an operator left it: the first form of the records of externals.
type recordedExternals struct {
	// Cluster and OwnerID are the recorded ids. They are replaced by those of the cluster of the test.
	Cluster string         `json:"cluster"`
	OwnerID string         `json:"ownerID"`
	Gadget  *gadget.Gadget `json:"gadget"`
	// States are the values of the Secret with the states.
	States    map[string]string     `json:"states"`
	Secret    *corev1.Secret        `json:"secret"`
	Dependent *corev1.ConfigMap     `json:"dependent"`
	Things    []componenttest.Thing `json:"things"`
}

const (
	recordedOperator  = "takeover-externals.test.fairlead.io"
	recordedNamespace = "takeover-externals"
)

// readRecorded reads the golden record for a cluster.
func readRecorded(cluster, ownerID string) recordedExternals {
	GinkgoHelper()
	text, err := os.ReadFile("testdata/takeover/externals.json")
	Expect(err).NotTo(HaveOccurred())
	var r recordedExternals
	Expect(json.Unmarshal(text, &r)).To(Succeed())
	replaced := strings.NewReplacer(r.OwnerID, ownerID, r.Cluster, cluster).Replace(string(text))
	r = recordedExternals{}
	Expect(json.Unmarshal([]byte(replaced), &r)).To(Succeed())
	return r
}

// secret returns the Secret with the states. Its digests are those of the replaced values.
func (r recordedExternals) secret() *corev1.Secret {
	GinkgoHelper()
	var index map[string]any
	Expect(json.Unmarshal([]byte(r.States["_index"]), &index)).To(Succeed())
	digests, data := map[string]string{}, map[string][]byte{}
	for key, value := range r.States {
		if key == "_index" {
			continue
		}
		sum := sha256.Sum256([]byte(value))
		digests[key], data[key] = hex.EncodeToString(sum[:16]), []byte(value)
	}
	index["digests"] = digests
	text, err := json.Marshal(index)
	Expect(err).NotTo(HaveOccurred())
	data["_index"] = text
	sum := sha256.Sum256([]byte(r.Secret.Name + "\n" + base64.StdEncoding.EncodeToString(text)))
	s := r.Secret.DeepCopy()
	s.Data, s.Annotations[recordedOperator+"/record-digest"] = data, hex.EncodeToString(sum[:])
	return s
}

var _ = Describe("Components with externals that the first version with externals reconciled:", func() {
	It("a component is taken over without a write to a dependent, and its externals are "+
		"deleted with it", func(ctx SpecContext) {
		id := idOf(ctx, k8s)
		sum := sha256.Sum256([]byte(id + "/" + recordedOperator + "/gadgets.example.com/Gadget/" +
			recordedNamespace + "/app"))
		r := readRecorded(id, hex.EncodeToString(sum[:20]))
		Expect(k8s.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: recordedNamespace}})).To(Succeed())
		cloud := componenttest.NewCloud()
		cloud.Put(foreignThing)
		for _, t := range r.Things {
			cloud.Put(t)
		}
		live, ok := r.Gadget.DeepCopyObject().(*gadget.Gadget)
		Expect(ok).To(BeTrue())
		Expect(k8s.Create(ctx, live)).To(Succeed())
		Expect(k8s.Create(ctx, r.secret(), client.FieldOwner(recordedOperator))).To(Succeed())
		previous := r.Dependent.UID
		r.Dependent.UID, r.Dependent.TypeMeta = "", metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}
		body, err := runtime.DefaultUnstructuredConverter.ToUnstructured(r.Dependent)
		Expect(err).NotTo(HaveOccurred())
		Expect(k8s.Apply(ctx, client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{Object: body}),
			client.FieldOwner(recordedOperator), client.ForceOwnership)).To(Succeed())
		live.Status = r.Gadget.Status
		for i, line := range live.Status.Inventory {
			live.Status.Inventory[i] = strings.ReplaceAll(line, string(previous),
				string(mustGet(ctx, "v1", "ConfigMap", recordedNamespace, "cm-0").GetUID()))
		}
		live.Status.InventoryDigest = previousDigest(live.Status.Inventory)
		Expect(k8s.Status().Update(ctx, live)).To(Succeed())

		mark := markAudit(ctx)
		before := passes(recordedOperator)
		runCloud(cloud, recordedOperator)
		Eventually(ctx, func() int { return passes(recordedOperator) }).Should(BeNumerically(">", before))
		requestPass(ctx, live, recordedOperator)
		expectReady(ctx, live)
		observed := cloud.Calls("Observe")
		Eventually(func() int { return cloud.Calls("Observe") }).Should(BeNumerically(">", observed+6))
		Expect(verbs(inNamespace(requestsSince(ctx, mark, recordedOperator), recordedNamespace).Writes().
			Resource("configmaps", "secrets"))).To(BeEmpty())
		Expect(cloud.Calls("Create") + cloud.Calls("Update") + cloud.Calls("Delete")).To(BeZero())
		expectDeleted(ctx, live, recordedOperator, cloud)
	})
})
