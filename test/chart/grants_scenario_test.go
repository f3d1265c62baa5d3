package chart_test

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// featureFiles are the sources of the components of the scenario. GROUP is replaced by an API group.
var featureFiles = map[string]string{
	// A deletion phase, and a change with an update policy that writes with PUT.
	"plain": `
{apiVersion: v1, kind: ConfigMap, metadata: {name: plain}, data: {level: {{ .Values.level | default "one" }}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: replaced, annotations: {fairlead.io/update-policy: replace}}, data: {level: {{ .Values.level | default "one" }}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: after, annotations: {fairlead.io/phase: post-delete}}}
`,
	// A definition, which is deleted under a guard.
	"defining": `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: tugs.GROUP}
spec:
  group: GROUP
  names: {kind: Tug, plural: tugs}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
`,
	// A namespace, whose contents are listed before it is deleted.
	"owning": `{apiVersion: v1, kind: Namespace, metadata: {name: GROUP-more}}`,
	// Definitions that never serve a type.
	"unserved": `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: buoys.GROUP.unserved}
spec:
  group: GROUP.unserved
  names: {kind: Buoy, plural: buoys}
  scope: Namespaced
  versions:
  - {name: v1, served: false, storage: true, schema: {openAPIV3Schema: {type: object}}}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.GROUP.aggregated}
spec:
  {group: GROUP.aggregated, version: v1, groupPriorityMinimum: 100, versionPriority: 10, insecureSkipTLSVerify: true, service: {namespace: default, name: nobody}}
`,
	// A workload whose pods are refused.
	"stuck": `
apiVersion: apps/v1
kind: Deployment
metadata: {name: stuck}
spec: {replicas: 1, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}}
`,
	"remote": `{apiVersion: v1, kind: ConfigMap, metadata: {name: remote}}`,
	"lost":   `{apiVersion: v1, kind: ConfigMap, metadata: {name: lost}}`,
}

// exerciseEverything runs the operator with the rights and flags of the chart, and uses all its features that send
// requests. The components of the scenario have all rights, so that only the rights of the operator matter. An operator
// that does not observe all namespaces refuses to delete other namespaces, so the scenario has none then.
func exerciseEverything(ctx context.Context, namespace string, everyNamespace bool) {
	GinkgoHelper()
	address := freeAddress()
	launch(append(deployed(ctx), "--kubeconfig="+credentials(ctx), "--metrics-bind-address="+address,
		"--health-probe-bind-address=0")...)
	scrape(ctx, "https://"+address+"/metrics")

	plain := createFeature(ctx, namespace, "plain", v1alpha1.ComponentSpec{
		ValuesFrom: []metav1alpha1.ValuesReference{{Kind: metav1alpha1.SecretReference, Name: "values"}},
	})
	remote := createFeature(ctx, namespace, "remote", v1alpha1.ComponentSpec{
		KubeConfigSpec: metav1alpha1.KubeConfigSpec{Target: &metav1alpha1.KubeConfigSource{
			SecretRef: metav1alpha1.KubeConfigKey{Name: "kubeconfig"},
		}},
	})
	defining := createFeature(ctx, namespace, "defining", v1alpha1.ComponentSpec{})
	lost := createFeature(ctx, namespace, "lost", v1alpha1.ComponentSpec{
		ServiceAccountSpec: metav1alpha1.ServiceAccountSpec{ServiceAccount: account},
	})
	components := []*v1alpha1.Component{plain, remote, defining, lost}
	if everyNamespace {
		components = append(components, createFeature(ctx, namespace, "owning", v1alpha1.ComponentSpec{}))
	}
	for _, c := range components {
		Eventually(status(ctx, namespace, c.Name)).WithTimeout(time.Minute).Should(HavePrefix("Ready Ready: "), c.Name)
	}
	repairTwice(ctx, namespace)
	upgrade(ctx, plain)

	By("waiting for workloads and types that never become ready")
	stuck := createFeature(ctx, namespace, "stuck", v1alpha1.ComponentSpec{})
	Eventually(details(ctx, namespace, stuck.Name)).WithTimeout(time.Minute).Should(ContainSubstring("exceeded quota"))
	unserved := createFeature(ctx, namespace, "unserved", v1alpha1.ComponentSpec{})
	Eventually(details(ctx, namespace, unserved.Name)).WithTimeout(time.Minute).Should(ContainSubstring("nobody"))

	// While an aggregated API has no server, Kubernetes cannot empty a namespace that is being deleted. It tries again
	// after 5, 10, 20 and 40 seconds. So this API is deleted before a component deletes its namespace.
	Expect(admin.Delete(ctx, unserved)).To(Succeed())
	Expect(cluster.AwaitDefinitionDeleted(ctx, "buoys."+namespace+".example.com.unserved")).To(Succeed())
	Eventually(absent(ctx, unserved)).WithTimeout(time.Minute).Should(Succeed())

	By("deleting a component right after its inventory was lost, before the operator can rebuild the inventory")
	Expect(admin.Get(ctx, client.ObjectKeyFromObject(lost), lost)).To(Succeed())
	lost.Status = metav1alpha1.Status{}
	Expect(admin.Status().Update(ctx, lost)).To(Succeed())
	Expect(admin.Delete(ctx, lost)).To(Succeed())

	components = append(components, stuck)
	for _, c := range components {
		Expect(client.IgnoreNotFound(admin.Delete(ctx, c))).To(Succeed())
	}
	for _, c := range components {
		Eventually(absent(ctx, c)).WithTimeout(time.Minute).Should(Succeed())
	}
}

// prepareScenario creates the namespace of the scenario with an account that has all rights, Secrets that components
// refer to, and a quota that refuses pods.
func prepareScenario(ctx context.Context, namespace string) {
	GinkgoHelper()
	newTenant(ctx, namespace)
	remote, err := cluster.User(ctx, "remote-"+namespace, "system:masters")
	Expect(err).NotTo(HaveOccurred())
	kubeconfig, err := os.ReadFile(remote.Kubeconfig)
	Expect(err).NotTo(HaveOccurred())
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "no-pods"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}},
	}
	for _, o := range []client.Object{
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: namespace},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: account}},
		},
		// An administrator grants the rights on types that components define.
		&rbacv1.ClusterRole{
			ObjectMeta: metav1.ObjectMeta{Name: namespace + "-tugs"},
			Rules: []rbacv1.PolicyRule{{
				APIGroups: []string{namespace + ".example.com"}, Resources: []string{"tugs"},
				Verbs: []string{"get", "list", "watch"},
			}},
		},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: namespace + "-tugs"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: namespace + "-tugs"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: system, Name: release}},
		},
		quota,
		&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "values"},
			StringData: map[string]string{"values.yaml": "other: thing"},
		},
		&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "kubeconfig"},
			Data:       map[string][]byte{"value": kubeconfig},
		},
	} {
		Expect(admin.Create(ctx, o)).To(Succeed())
	}

	// The API server enforces a quota from the time when a controller has written its status.
	Eventually(func() (corev1.ResourceList, error) {
		err := admin.Get(ctx, client.ObjectKeyFromObject(quota), quota)
		return quota.Status.Hard, err
	}).WithTimeout(time.Minute).Should(HaveKey(corev1.ResourcePods))
}

func createFeature(ctx context.Context, namespace, name string, spec v1alpha1.ComponentSpec) *v1alpha1.Component {
	GinkgoHelper()
	text := strings.ReplaceAll(featureFiles[name], "GROUP", namespace+".example.com")
	text = strings.ReplaceAll(text, namespace+".example.com-more", namespace+"-more")
	spec.Source = v1alpha1.Source{Inline: &v1alpha1.InlineSource{Files: map[string]string{
		"Chart.yaml": "{apiVersion: v2, name: feature, version: 1.0.0}", "templates/all.yaml": text,
	}}}
	spec.RetryDuration = &metav1.Duration{Duration: time.Second}
	c := &v1alpha1.Component{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: spec}
	Expect(admin.Create(ctx, c)).To(Succeed())
	return c
}

// repairTwice deletes a dependent twice, so that the operator sends the same event again.
func repairTwice(ctx context.Context, namespace string) {
	GinkgoHelper()
	for range 2 {
		before := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "plain"}}
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(before), before)).To(Succeed())
		Expect(admin.Delete(ctx, before)).To(Succeed())
		Eventually(func() error {
			return admin.Get(ctx, client.ObjectKeyFromObject(before), &corev1.ConfigMap{})
		}).WithTimeout(time.Minute).Should(Succeed())
	}
}

func upgrade(ctx context.Context, c *v1alpha1.Component) {
	GinkgoHelper()
	Eventually(func() error {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(c), c); err != nil {
			return err
		}
		c.Spec.Values = &runtime.RawExtension{Raw: []byte(`{"level":"two"}`)}
		return admin.Update(ctx, c)
	}).Should(Succeed())
	Eventually(func() (string, error) {
		changed := &corev1.ConfigMap{}
		err := admin.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: "replaced"}, changed)
		return changed.Data["level"], err
	}).WithTimeout(time.Minute).Should(Equal("two"))
}

// freeAddress returns a local address whose port is free at the time of the call.
func freeAddress() string {
	GinkgoHelper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

// scrape requests the metrics with the token of an account that has no right to read them.
func scrape(ctx context.Context, url string) {
	GinkgoHelper()
	request := &authenticationv1.TokenRequest{}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "default"}}
	Eventually(func() error { return admin.SubResource("token").Create(ctx, account, request) }).Should(Succeed())
	insecure := &http.Client{Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true},
		DisableKeepAlives: true,
	}}
	Eventually(func() (int, error) {
		get, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			return 0, err
		}
		get.Header.Set("Authorization", "Bearer "+request.Status.Token)
		response, err := insecure.Do(get)
		if err != nil {
			return 0, err
		}
		return response.StatusCode, response.Body.Close()
	}).Should(Equal(http.StatusForbidden))
}
