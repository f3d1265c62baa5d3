package conformance_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/test/gadget"
)

// forgery is what a tenant who may edit Secrets makes of the record of a rendering.
type forgery struct {
	operator string
	record   corev1.Secret
}

// recordedKey is the key of the manifests in the Secret of a record.
const recordedKey = "manifests.json.gz"

// withContent returns the record with other manifests, and with the digest of its data in its annotation.
func (f forgery) withContent(manifests string) *corev1.Secret {
	GinkgoHelper()
	var list []any
	Expect(json.Unmarshal([]byte(manifests), &list)).To(Succeed())
	buffer := &bytes.Buffer{}
	writer := gzip.NewWriter(buffer)
	Expect(json.NewEncoder(writer).Encode(list)).To(Succeed())
	Expect(writer.Close()).To(Succeed())
	edited := f.record.DeepCopy()
	edited.Data[recordedKey] = buffer.Bytes()
	f.digest(edited)
	return edited
}

func (f forgery) digest(record *corev1.Secret) {
	sum := sha256.Sum256([]byte(record.Name + "\n" + base64.StdEncoding.EncodeToString(record.Data[recordedKey])))
	record.Annotations[f.operator+"/record-digest"] = hex.EncodeToString(sum[:])
}

// plant creates a record with other manifests, whose id proves it, and that seems to be the latest record of the
// operator. It returns the id.
func (f forgery) plant(ctx context.Context, manifests string) (id string) {
	GinkgoHelper()
	planted := f.withContent(manifests)
	header := planted.Data["header"]
	hash := sha256.New()
	length := binary.BigEndian.AppendUint32(nil, uint32(len(header)))
	for _, part := range [][]byte{[]byte("v"), planted.Data["salt"], length, header, planted.Data[recordedKey]} {
		hash.Write(part)
	}
	id = "v" + hex.EncodeToString(hash.Sum(nil)[:20])
	words := strings.Split(planted.Name, "-")
	words[len(words)-2] = id
	planted.Name = strings.Join(words, "-")
	planted.UID, planted.ResourceVersion, planted.ManagedFields = "", "", nil
	planted.Annotations[f.operator+"/record-written"] = "2999-01-01T00:00:00.000000000Z"
	f.digest(planted)
	planted.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	body, err := json.Marshal(planted)
	Expect(err).NotTo(HaveOccurred())
	applied := &unstructured.Unstructured{}
	Expect(applied.UnmarshalJSON(body)).To(Succeed())
	unstructured.RemoveNestedField(applied.Object, "metadata", "creationTimestamp")
	Expect(k8s.Apply(ctx, client.ApplyConfigurationFromUnstructured(applied), client.FieldOwner(f.operator))).To(Succeed())
	return id
}

var _ = Describe("Records of renderings that a tenant forged:", func() {
	const generated = `{apiVersion: v1, kind: Secret, metadata: {name: login}, data: {password: {{ randAlphaNum 16 | b64enc }}}}
---
{apiVersion: v1, kind: Secret, metadata: {name: other}, data: {password: {{ randAlphaNum 16 | b64enc }}}}
`
	const evil = `[
		{"apiVersion":"v1","kind":"Secret","metadata":{"name":"login"},"data":{"password":"ZXZpbA=="}},
		{"apiVersion":"v1","kind":"Secret","metadata":{"name":"other"},"data":{"password":"ZXZpbA=="}},
		{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"planted"},"data":{"value":"evil"}}
	]`
	var namespace, operator string
	BeforeEach(func(ctx SpecContext) { namespace, operator = newNamespace(ctx), newOperatorName() })

	// applied applies the manifests, stops the operator, deletes the Secret other, and returns the component, its record,
	// and the applied values of the Secrets login and other.
	applied := func(ctx context.Context) (g *gadget.Gadget, f forgery, login, other map[string]any) {
		GinkgoHelper()
		stop := runOperator(operator, operatorOptions{generate: &chart{}})
		g = newGadget(ctx, namespace, "app", generated, servedBy(operator))
		expectReady(ctx, g)
		settle(ctx, operator)
		stop()
		Expect(current(ctx, g).Status.RenderedSet).To(MatchRegexp("^v[0-9a-f]{40}$"))
		login, other = content(ctx, "Secret", namespace, "login"), content(ctx, "Secret", namespace, "other")
		remove(ctx, mustGet(ctx, "v1", "Secret", namespace, "other"))
		return g, forgery{operator, keptSets(ctx, namespace)[0]}, login, other
	}

	// loseStatus empties the status of the component, as the restore of a backup without statuses does.
	loseStatus := func(ctx context.Context, g *gadget.Gadget) {
		GinkgoHelper()
		emptied := current(ctx, g)
		emptied.Status = gadget.GadgetStatus{}
		Expect(k8s.Status().Update(ctx, emptied, client.FieldOwner(backupTool))).To(Succeed())
	}

	// expectUnused runs the operator, and expects that it creates no planted object, and that no live object gets a forged
	// value. It returns the data of the Secret other, which did not exist before.
	expectUnused := func(ctx context.Context, g *gadget.Gadget, made map[string]any, note string) map[string]any {
		GinkgoHelper()
		runOperator(operator, operatorOptions{generate: &chart{}})
		Eventually(ctx, func() []string { return notesOf(ctx, namespace, "RenderedSetLost") }).
			Should(ContainElement(ContainSubstring(note)))
		Eventually(ctx, func() error { _, err := get(ctx, "v1", "Secret", namespace, "other"); return err }).Should(Succeed())
		expectReady(ctx, g)
		settle(ctx, operator)
		Expect(content(ctx, "Secret", namespace, "login")).To(Equal(made))
		Expect(configMapExists(ctx, namespace, "planted")).To(BeFalse())
		Eventually(ctx, func() []string { return namesOf(keptSets(ctx, namespace)) }).
			Should(ConsistOf(ContainSubstring("-" + current(ctx, g).Status.RenderedSet + "-")))
		return content(ctx, "Secret", namespace, "other")
	}

	const notProven = "nothing proves it"

	It("a record that was edited together with its digest creates nothing, and changes no value", func(ctx SpecContext) {
		g, f, login, _ := applied(ctx)
		edited := f.withContent(evil)
		Expect(k8s.Update(ctx, edited, client.FieldOwner(operator))).To(Succeed())
		Expect(expectUnused(ctx, g, login, "does not match its id")).NotTo(HaveKeyWithValue("password", "ZXZpbA=="))
	})

	DescribeTable("a planted record is not believed: it creates nothing, changes no value, and is deleted, after",
		func(ctx SpecContext, edit func(status *gadget.GadgetStatus, planted string)) {
			g, f, login, other := applied(ctx)
			planted := f.plant(ctx, evil)
			edited := current(ctx, g)
			edit(&edited.Status, planted)
			Expect(k8s.Status().Update(ctx, edited, client.FieldOwner(backupTool))).To(Succeed())
			Expect(expectUnused(ctx, g, login, notProven)).To(Equal(other), "the genuine record is used")
		},
		Entry("the loss of the status", func(status *gadget.GadgetStatus, _ string) { *status = gadget.GadgetStatus{} }),
		Entry("an edit of the status that names it", func(status *gadget.GadgetStatus, planted string) {
			status.RenderedSet = planted
		}),
	)

	It("after the loss of the status and of the genuine record, a planted record chooses only generated values of "+
		"objects that do not exist", func(ctx SpecContext) {
		g, f, login, _ := applied(ctx)
		f.plant(ctx, evil)
		letGo(ctx, &f.record)
		remove(ctx, &f.record)
		loseStatus(ctx, g)
		Expect(expectUnused(ctx, g, login, notProven)).To(Equal(map[string]any{"password": "ZXZpbA=="}))
	})

	It("after the loss of the status, a deleted object keeps its generated value", func(ctx SpecContext) {
		g, _, login, other := applied(ctx)
		loseStatus(ctx, g)
		Expect(expectUnused(ctx, g, login, notProven)).To(Equal(other))
	})

	It("after a restore of the component and of its record without the status, all objects keep their generated "+
		"values", func(ctx SpecContext) {
		g, f, login, other := applied(ctx)
		remove(ctx, mustGet(ctx, "v1", "Secret", namespace, "login"))
		restored := f.record.DeepCopy()
		letGo(ctx, &f.record)
		remove(ctx, &f.record)
		restored.UID, restored.ResourceVersion, restored.ManagedFields = "", "", nil
		Expect(k8s.Create(ctx, restored, client.FieldOwner(backupTool))).To(Succeed())
		loseStatus(ctx, g)
		Expect(expectUnused(ctx, g, login, notProven)).To(Equal(other))
	})

	It("after the loss of the status, an object that drifted gets the values of the genuine record again, if the object "+
		"has the digest of its manifest", func(ctx SpecContext) {
		g, _, login, _ := applied(ctx)
		patch(ctx, mustGet(ctx, "v1", "Secret", namespace, "login"), `{"stringData":{"password":"drifted"}}`)
		loseStatus(ctx, g)
		runOperator(operator, operatorOptions{generate: &chart{}})
		Eventually(ctx, func() any { return content(ctx, "Secret", namespace, "login") }).Should(Equal(login))
		expectReady(ctx, g)
		settle(ctx, operator)
		Expect(content(ctx, "Secret", namespace, "login")).To(Equal(login))
	})
})
