package tenancy_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

const recordOf = "fairlead.io/record-of"

// recorded returns the files of a component with an object that is applied in the deletion. The operator stores the
// object in a record.
func recorded() map[string]string {
	return map[string]string{
		"a.yaml":     metadata,
		"after.yaml": `{apiVersion: v1, kind: ConfigMap, metadata: {name: after, annotations: {fairlead.io/phase: post-delete}}}`,
	}
}

// recordIn returns the Secret with the only record of a namespace.
func recordIn(ctx context.Context, namespace string) *corev1.Secret {
	GinkgoHelper()
	list := &corev1.SecretList{}
	Expect(mallory.List(ctx, list, client.InNamespace(namespace), client.HasLabels{recordOf})).To(Succeed())
	Expect(list.Items).To(HaveLen(1))
	return &list.Items[0]
}

// bomb returns a list of 6,000,000 small maps, which is compressed JSON, in base64.
func bomb() string {
	GinkgoHelper()
	var buffer bytes.Buffer
	writer := gzip.NewWriter(&buffer)
	_, err := writer.Write([]byte(`[{"a":{}}`))
	Expect(err).NotTo(HaveOccurred())
	more := bytes.Repeat([]byte(`,{"a":{}}`), 1000)
	for range 6000 {
		_, err := writer.Write(more)
		Expect(err).NotTo(HaveOccurred())
	}
	_, err = writer.Write([]byte("]"))
	Expect(err).NotTo(HaveOccurred())
	Expect(writer.Close()).To(Succeed())
	return base64.StdEncoding.EncodeToString(buffer.Bytes())
}

// victim creates a component of mallory with a record.
func victim(ctx context.Context, namespace string) *v1alpha1.Component {
	GinkgoHelper()
	c := newComponent(namespace, "victim", recorded())
	attack(ctx, c)
	Eventually(ctx, status(ctx, namespace, c.Name)).Should(HavePrefix("Ready Ready: "))
	return c
}

var _ = Describe("A tenant who writes Secrets", func() {
	unharmed()

	It("does not exhaust the memory of the operator by a dependent with the name of a record", func(ctx SpecContext) {
		namespace := newTenancy(ctx)
		c := victim(ctx, namespace)
		record := recordIn(ctx, namespace)
		secret := fmt.Sprintf("{apiVersion: v1, kind: Secret, metadata: {name: %s}, data: {manifests.json.gz: %s}}",
			record.Name, bomb())
		other := newComponent(namespace, "other", map[string]string{"a.yaml": secret})
		attack(ctx, other)
		Eventually(ctx, status(ctx, namespace, other.Name)).ShouldNot(BeEmpty())
		Expect(mallory.Delete(ctx, c)).To(Succeed())
		Eventually(ctx, isAbsent(ctx, c)).Should(BeTrue())
		expectEach(ctx, namespace, "the name is reserved for the records of components")
	}, SpecTimeout(5*time.Minute))

	It("does not exhaust the memory of the operator by a patch of a record", func(ctx SpecContext) {
		namespace := newTenancy(ctx)
		c := victim(ctx, namespace)
		patch := fmt.Appendf(nil, `{"data":{"manifests.json.gz":%q}}`, bomb())
		Expect(mallory.Patch(ctx, recordIn(ctx, namespace), client.RawPatch(types.MergePatchType, patch))).To(Succeed())

		By("restarting the operator, which reads the record again")
		restart(ctx)
		Expect(mallory.Delete(ctx, c)).To(Succeed())
		Eventually(ctx, isAbsent(ctx, c)).Should(BeTrue())
	}, SpecTimeout(5*time.Minute))

	It("does not make the operator delete another Secret by the labels of a record", func(ctx SpecContext) {
		namespace := newTenancy(ctx)
		c := victim(ctx, namespace)
		record := recordIn(ctx, namespace)
		theirs := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: namespace, Name: "theirs", Labels: record.Labels, Annotations: record.Annotations,
			},
			Data: record.Data,
		}
		Expect(admin.Create(ctx, theirs)).To(Succeed())
		events, err := cluster.AuditEvents(ctx)
		Expect(err).NotTo(HaveOccurred())

		By("removing the component while no operator runs, so that its record is collected at the next start")
		operator.expectAlive()
		operator.stop()
		Expect(mallory.Delete(ctx, c)).To(Succeed())
		Expect(admin.Patch(ctx, c, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))).
			To(Succeed())
		operator = startOperator(ctx)
		Eventually(ctx, isAbsent(ctx, record)).Should(BeTrue())

		By("deleting a component with the same name")
		c = victim(ctx, namespace)
		Expect(mallory.Delete(ctx, c)).To(Succeed())
		Eventually(ctx, isAbsent(ctx, c)).Should(BeTrue())
		uid := theirs.UID
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(theirs), theirs)).To(Succeed())
		Expect(theirs.UID).To(Equal(uid))
		all, err := cluster.AuditEvents(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(all[len(events):].User(operatorUser).Writes().Where(func(e testcluster.Event) bool {
			return e.Namespace == namespace && e.Name == theirs.Name
		})).To(BeEmpty())
	}, SpecTimeout(5*time.Minute))
})
