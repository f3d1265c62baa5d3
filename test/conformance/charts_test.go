package conformance_test

import (
	"io/fs"
	"os"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/generator/helm"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

// hookChart has hooks for all events, and two objects of its own. Its only value is manifests, as in a gadget.
func hookChart() fs.FS { return os.DirFS("testdata/hooks") }

// tale returns what requests did to objects in a namespace, but for Secrets, in which Helm and we keep records.
func tale(events testcluster.Events, namespace string) []string {
	var told []string
	for _, e := range succeeded(inNamespace(events, namespace).Writes()) {
		if e.Resource == "secrets" || e.Resource == "gadgets" {
			continue
		}
		verb := "update"
		switch {
		case e.Verb == "delete":
			verb = "delete"
		case e.Code == 201:
			verb = "create"
		}
		told = append(told, verb+" "+e.Resource+"/"+e.Name)
	}
	return told
}

var _ = Describe("The hooks of a chart", func() {
	It("run once at each revision, and never to repair what is gone after it completed", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		charts, err := helm.New(hookChart(), helm.Options{AnnotationPrefix: operator})
		Expect(err).NotTo(HaveOccurred())
		stop := runOperator(operator, operatorOptions{generate: charts})
		g := newGadget(ctx, namespace, "demo", "one", servedBy(operator))
		expectReady(ctx, g)
		settle(ctx, operator)
		created := func() int {
			return len(slices.DeleteFunc(tale(requestsSince(ctx, 0, operator), namespace), func(s string) bool { return s != "create jobs/a-before" }))
		}
		Expect(created()).To(Equal(1))
		gone := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a-before"}}
		Expect(k8s.Delete(ctx, gone, client.PropagationPolicy("Background"))).To(Succeed())
		expectGone(ctx, gone)
		requestPass(ctx, g, operator)
		settle(ctx, operator)
		stop()
		other := runOperator(operator, operatorOptions{generate: charts})
		defer other()
		requestPass(ctx, g, operator)
		settle(ctx, operator)
		Expect(created()).To(Equal(1), "a repair or a restart")
		changeManifests(ctx, g, "two")
		Eventually(ctx, created).Should(Equal(2), "a new revision")
		expectReady(ctx, g)
	})
})
