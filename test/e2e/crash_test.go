package e2e_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

// crowd renders 200 dependents in four waves. Half of them are Secrets. Their numbers begin with .Values.first.
const crowd = `
{{- range untilStep (int .Values.first) (int (add .Values.first 200)) 1 }}
---
apiVersion: v1
kind: {{ ternary "ConfigMap" "Secret" (eq (mod . 2) 0) }}
metadata:
  name: member-{{ . }}
  annotations:
    fairlead.io/order: "{{ mod (div . 2) 4 }}"
{{ ternary "data" "stringData" (eq (mod . 2) 0) }}:
  version: {{ $.Values.version }}
{{- end }}
`

// point is a state at which an operator is killed.
type point struct {
	name    string
	reached func(*witness) bool
}

var _ = Describe("Repeated crashes of an operator:", Ordered, func() {
	var (
		component  *v1alpha1.Component
		kubeconfig string
		offsets    *rand.Rand
		before     testcluster.Events
	)

	BeforeAll(func(ctx SpecContext) {
		seed := uint64(GinkgoRandomSeed())
		AddReportEntry("seed of the points at which the operator is killed", seed)
		offsets = rand.New(rand.NewPCG(seed, 0))
		kubeconfig = startRelay(identity)
		component = newComponent(newNamespace(ctx), "crowd", crowd, `{"first": 0, "version": "one"}`)
	})
	BeforeEach(func(ctx SpecContext) { before = audit(ctx) })

	// spread returns n points at increasing counts up to the count of. The exact counts are random.
	spread := func(n, of int, what string, count func(*witness) int) []point {
		points := make([]point, n)
		for i := range points {
			after := (i+1)*of/(n+1) + offsets.IntN(of/(n+1)/2)
			points[i] = point{fmt.Sprintf("%d of %d %s", after, of, what), func(w *witness) bool { return count(w) >= after }}
		}
		return points
	}

	It("an operator that is killed repeatedly creates each of 200 dependents once, and "+
		"records all of them", func(ctx SpecContext) {
		points := slices.Concat(
			[]point{
				{"the operator has added the finalizer", func(w *witness) bool { return len(w.component.Finalizers) > 0 }},
				{"the operator has written the inventory", func(w *witness) bool { return len(w.component.Status.Inventory) > 0 }},
			},
			spread(7, 200, "are created", func(w *witness) int { return w.created }),
			[]point{{"all dependents are created", func(w *witness) bool { return w.created == 200 }}},
		)
		Expect(points).To(HaveLen(10))
		w := newWitness(ctx, component.Namespace)
		Expect(admin.Create(ctx, component)).To(Succeed())
		killAt(ctx, kubeconfig, w, points)
		settle(ctx, kubeconfig, component)

		Expect(written(ctx, before)).To(Equal(map[string]writes{"patch 201": {requests: 200, objects: 200}}))
		Expect(dependents(ctx, component)).To(HaveLen(200))
	}, SpecTimeout(3*time.Minute))

	It("an operator that is killed repeatedly changes, adds and prunes each dependent once "+
		"in an upgrade", func(ctx SpecContext) {
		w := newWitness(ctx, component.Namespace)
		w.until(ctx, func(w *witness) bool { return w.created == 200 })
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(component), component)).To(Succeed())
		component.Spec.Values = &runtime.RawExtension{Raw: []byte(`{"first": 20, "version": "two"}`)}
		Expect(admin.Update(ctx, component)).To(Succeed())
		killAt(ctx, kubeconfig, w, slices.Concat(
			spread(4, 180, "are changed", func(w *witness) int { return len(w.updated) }),
			spread(2, 20, "are pruned", func(w *witness) int { return w.deleted }),
		))
		settle(ctx, kubeconfig, component)

		Expect(written(ctx, before)).To(Equal(map[string]writes{
			"patch 200": {requests: 180, objects: 180}, "patch 201": {requests: 20, objects: 20},
			"delete 200": {requests: 20, objects: 20},
		}))
		Expect(dependents(ctx, component)).To(HaveLen(200))
	}, SpecTimeout(3*time.Minute))

	It("an operator that is killed repeatedly leaves no object behind after a deletion", func(ctx SpecContext) {
		w := newWitness(ctx, component.Namespace)
		w.until(ctx, func(w *witness) bool { return w.created == 200 })
		Expect(admin.Delete(ctx, component)).To(Succeed())
		killAt(ctx, kubeconfig, w, spread(4, 200, "are deleted", func(w *witness) int { return w.deleted }))
		startOperator(kubeconfig)
		Eventually(ctx, func() error { return admin.Get(ctx, client.ObjectKeyFromObject(component), component) }).
			Should(Satisfy(apierrors.IsNotFound))

		Expect(dependents(ctx, component)).To(BeEmpty())
		Expect(written(ctx, before)).To(Equal(map[string]writes{"delete 200": {requests: 200, objects: 200}}))
	}, SpecTimeout(3*time.Minute))
})

// killAt starts an operator for each point and kills it there. The operators have few concurrent writes, so that they
// are killed close to the point.
func killAt(ctx context.Context, kubeconfig string, w *witness, points []point) {
	GinkgoHelper()
	for _, p := range points {
		By("killing the operator when " + p.name)
		operator := startOperator(kubeconfig, "--max-concurrent-writes=2")
		w.until(ctx, p.reached)
		operator.kill()
	}
}

// settle runs an operator until the component is ready, and checks that its inventory is equal to the live dependents.
func settle(ctx context.Context, kubeconfig string, component *v1alpha1.Component) {
	GinkgoHelper()
	operator := startOperator(kubeconfig)
	Eventually(ctx, componentCondition(ctx, component)).Should(HavePrefix("True Ready"))
	operator.kill()
	Expect(recorded(ctx, component)()).To(Equal(dependents(ctx, component)))
}

// recorded returns the dependents in the inventory, in the same form as dependents.
func recorded(ctx context.Context, component *v1alpha1.Component) func() ([]string, error) {
	return func() ([]string, error) {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(component), component); err != nil {
			return nil, err
		}
		entries, err := metav1alpha1.ParseInventory(component.Status.Inventory)
		var found []string
		for _, e := range entries {
			found = append(found, e.Kind+" "+e.Namespace+"/"+e.Name+" "+string(e.UID))
		}
		slices.Sort(found)
		return found, err
	}
}

func audit(ctx context.Context) testcluster.Events {
	GinkgoHelper()
	events, err := cluster.AuditEvents(ctx)
	Expect(err).NotTo(HaveOccurred())
	return events
}

// writes counts requests, and the objects that they write.
type writes struct{ requests, objects int }

// written counts the operator's successful writes to dependents, by verb and status code.
func written(ctx context.Context, before testcluster.Events) map[string]writes {
	GinkgoHelper()
	counts, seen := map[string]writes{}, map[string]bool{}
	for _, e := range audit(ctx)[len(before):].User(operatorUser).Resource("configmaps.", "secrets.").Writes() {
		if e.Code >= 300 {
			continue
		}
		kind := fmt.Sprintf("%s %d", e.Verb, e.Code)
		count := counts[kind]
		count.requests++
		if object := kind + " " + e.Resource + "/" + e.Name; !seen[object] {
			seen[object] = true
			count.objects++
		}
		counts[kind] = count
	}
	return counts
}

// names returns the names of the objects in requests, without duplicates.
func names(requests testcluster.Events) []string {
	var found []string
	for _, e := range requests {
		found = append(found, e.Resource+"/"+e.Name)
	}
	slices.Sort(found)
	return slices.Compact(found)
}
