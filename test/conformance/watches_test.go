package conformance_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

var _ = Describe("Watches on types of dependents:", func() {
	It("a type that can be listed and not watched causes only few lists and passes", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		user, err := cluster.User(ctx, operator)
		Expect(err).NotTo(HaveOccurred())
		create(ctx, fmt.Sprintf(`apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: %[1]s}
rules:
- {apiGroups: [gadgets.example.com, events.k8s.io], resources: ["*"], verbs: ["*"]}
- {apiGroups: [""], resources: [namespaces, configmaps], verbs: ["*"]}
- {apiGroups: [""], resources: [serviceaccounts], verbs: [get, list, create, patch, update, delete]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %[1]s}
subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: %[1]s}]`, operator))
		runOperator(operator, operatorOptions{user: user.Config})
		g := newGadget(ctx, namespace, "app", together("apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: unwatched}",
			configMap("sibling", "a")), servedBy(operator))
		expectCondition(ctx, g, metav1alpha1.ConditionReady,
			And(HavePrefix("True Ready: "), ContainSubstring("read at the retry interval"), ContainSubstring("cannot watch")))
		settle(ctx, operator)

		mark, before := markAudit(ctx), passes(operator)
		Consistently(ctx, func() int { return passes(operator) - before }).WithTimeout(4 * time.Second).
			Should(BeNumerically("<=", 3))
		lists := auditEvents(ctx)[mark:].UserAgent(userAgent(operator)).Resource("serviceaccounts").Verb("list").
			Where(func(e testcluster.Event) bool { return e.Code == 200 })
		Expect(len(lists)).To(BeNumerically("<=", 6), "too many lists: want a pause between two attempts to watch a type")
	})

	It("the watch on a type ends when its last dependent is deleted", func(ctx SpecContext) {
		namespace, group, operator := newNamespace(ctx), newGroup(), newOperatorName()
		runOperator(operator, operatorOptions{})
		definition := create(ctx, widgetDefinition(group))[0]
		g := newGadget(ctx, namespace, "app", together(widget(group, "one"), configMap("stays", "a")), servedBy(operator))
		expectReady(ctx, g)
		changeManifests(ctx, g, configMap("stays", "a"))
		expectReady(ctx, g)
		settle(ctx, operator)

		// When the definition is deleted, the API server ends all watches on the type. Only a watch that is still in use is
		// then opened again.
		mark := markAudit(ctx)
		remove(ctx, definition)
		expectNotFound(ctx, definition)
		Consistently(ctx, func() []string {
			return verbs(auditEvents(ctx)[mark:].UserAgent(userAgent(operator)).Resource("widgets." + group))
		}).WithTimeout(3 * time.Second).WithPolling(500 * time.Millisecond).Should(BeEmpty())
	})

	Context("Definitions that drop a version:", func() {
		// twoVersions renders a definition with the version v1alpha1 before v1.
		twoVersions := func(group string, served bool) string {
			return strings.Replace(widgetDefinition(group), "  versions:\n", fmt.Sprintf(`  versions:
    - name: v1alpha1
      served: %v
      storage: false
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`, served), 1)
		}
		early := func(group, name string) string {
			return strings.Replace(widget(group, name), "/v1\n", "/v1alpha1\n", 1)
		}

		It("when a definition drops a version, dependents of this version are watched in the "+
			"remaining version", func(ctx SpecContext) {
			namespace, group := newNamespace(ctx), newGroup()
			g := newGadget(ctx, namespace, "app", together(twoVersions(group, true), early(group, "one"),
				early(group, "pruned")))
			expectReady(ctx, g)
			before := mustGet(ctx, group+"/v1", "Widget", namespace, "one").GetUID()

			changeManifests(ctx, g, together(twoVersions(group, false), widget(group, "one")))
			expectReady(ctx, g)
			Expect(mustGet(ctx, group+"/v1", "Widget", namespace, "one").GetUID()).To(Equal(before))
			Eventually(ctx, func() error { _, err := get(ctx, group+"/v1", "Widget", namespace, "pruned"); return err }).
				Should(MatchError(apierrors.IsNotFound, "IsNotFound"))
			patch(ctx, mustGet(ctx, group+"/v1", "Widget", namespace, "one"), `{"spec":{"size":7}}`)
			Eventually(ctx, func() any { return mustGet(ctx, group+"/v1", "Widget", namespace, "one").Object["spec"] }).
				Should(HaveKeyWithValue("size", BeEquivalentTo(1)), "the drift was not repaired in the remaining version")
			remove(ctx, g)
			expectNotFound(ctx, g)
		})

		It("a version that a definition no longer contains does not block a deletion", func(ctx SpecContext) {
			namespace, group := newNamespace(ctx), newGroup()
			definition := create(ctx, twoVersions(group, true))[0]
			Eventually(ctx, func() error { _, err := get(ctx, group+"/v1alpha1", "Widget", namespace, "x"); return err }).
				Should(MatchError(apierrors.IsNotFound, "IsNotFound"))
			g := newGadget(ctx, namespace, "app", early(group, "one"))
			expectReady(ctx, g)
			Expect(k8s.Patch(ctx, definition, client.RawPatch(types.JSONPatchType,
				[]byte(`[{"op":"replace","path":"/spec/versions/0/served","value":false}]`)))).To(Succeed())
			remove(ctx, g)
			expectNotFound(ctx, g)
			_, err := get(ctx, group+"/v1", "Widget", namespace, "one")
			Expect(err).To(MatchError(apierrors.IsNotFound, "IsNotFound"))
		})
	})

	It("dependents follow a type that another client deletes and defines again with another scope", func(ctx SpecContext) {
		namespace, group := newNamespace(ctx), newGroup()
		definition := create(ctx, widgetDefinition(group))[0]
		g := newGadget(ctx, namespace, "app", widget(group, "one"), retrySoon)
		expectReady(ctx, g)
		remove(ctx, definition)
		expectNotFound(ctx, definition)
		create(ctx, strings.Replace(widgetDefinition(group), "Namespaced", "Cluster", 1))
		Eventually(ctx, func() string { return fmt.Sprint(current(ctx, g).Status.Inventory) }).
			ShouldNot(ContainSubstring("/" + namespace + "/"))
		expectReady(ctx, g)
		mustGet(ctx, group+"/v1", "Widget", "", "one")
		remove(ctx, g)
		expectNotFound(ctx, g)
	})

	It("dependents follow a type that the component defines again with another scope", func(ctx SpecContext) {
		namespace, group := newNamespace(ctx), newGroup()
		g := newGadget(ctx, namespace, "app", together(widgetDefinition(group), widget(group, "one")))
		expectReady(ctx, g)
		changeManifests(ctx, g, together(strings.Replace(widgetDefinition(group), "Namespaced", "Cluster", 1),
			widget(group, "one")))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, "scope")
		remove(ctx, mustGet(ctx, "apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "widgets."+group))
		expectReady(ctx, g)
		mustGet(ctx, group+"/v1", "Widget", "", "one")
		Expect(current(ctx, g).Status.Inventory).To(HaveLen(2))
		remove(ctx, g)
		expectNotFound(ctx, g)
	})
})

var _ = Describe("The objects that a watch receives:", func() {
	It("a watch receives only metadata of types without a status, and whole objects of types "+
		"with a status", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		var mutex sync.Mutex
		whole := map[string]bool{}
		runOperator(operator, operatorOptions{transport: func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				if r.URL.Query().Get("watch") != "" && r.URL.Query().Get("labelSelector") != "" {
					mutex.Lock()
					whole[path.Base(r.URL.Path)] = !strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata")
					mutex.Unlock()
				}
				return next.RoundTrip(r)
			})
		}})
		g := newGadget(ctx, namespace, "app", together(configMap("settings", "a"), deployment("web"),
			"apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: web}"), servedBy(operator))
		expectReady(ctx, g)
		mutex.Lock()
		defer mutex.Unlock()
		Expect(whole).To(And(HaveKeyWithValue("configmaps", false), HaveKeyWithValue("serviceaccounts", false),
			HaveKeyWithValue("deployments", true)))
	})

	It("if a watch ends and cannot be resumed, a list replaces it, and no change is missed", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		var broken, expired atomic.Bool
		var mutex sync.Mutex
		var bodies []io.Closer
		runOperator(operator, operatorOptions{transport: func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				query := r.URL.Query()
				ours := path.Base(r.URL.Path) == "configmaps" && query.Get("watch") != "" && query.Get("labelSelector") != ""
				switch {
				case ours && broken.Load():
					return nil, errors.New("the network is down")
				case ours && expired.Swap(false):
					body := `{"type":"ERROR","object":{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"Expired","code":410,"message":"too old"}}`
					return &http.Response{
						StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
						Body: io.NopCloser(strings.NewReader(body)), Request: r,
					}, nil
				}
				answer, err := next.RoundTrip(r)
				if ours && err == nil {
					mutex.Lock()
					bodies = append(bodies, answer.Body)
					mutex.Unlock()
				}
				return answer, err
			})
		}})
		g := newGadget(ctx, namespace, "app", configMaps("cm", 4, "a"), servedBy(operator))
		expectReady(ctx, g)
		settle(ctx, operator)

		broken.Store(true)
		mutex.Lock()
		for _, body := range bodies {
			Expect(body.Close()).To(Succeed())
		}
		mutex.Unlock()
		patch(ctx, newConfigMap(namespace, "cm-0"), `{"data":{"value":"theirs"}}`)
		remove(ctx, newConfigMap(namespace, "cm-1"))
		remove(ctx, newConfigMap(namespace, "cm-2"))
		create(ctx, configMapIn(namespace, "cm-2", "theirs"))
		expired.Store(true)
		broken.Store(false)
		Eventually(ctx, func() any { return content(ctx, "ConfigMap", namespace, "cm-0")["value"] }).Should(Equal("a"))
		Eventually(ctx, func() error { _, err := get(ctx, "v1", "ConfigMap", namespace, "cm-1"); return err }).
			Should(Succeed())
		// An object that replaced a dependent has no owner, and is adopted.
		Eventually(ctx, func() any { return content(ctx, "ConfigMap", namespace, "cm-2")["value"] }).Should(Equal("a"))
		expectReady(ctx, g)
		Expect(expired.Load()).To(BeFalse())
	})
})
