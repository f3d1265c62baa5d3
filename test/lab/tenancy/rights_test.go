package tenancy_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

const (
	// gain is a ClusterRoleBinding that makes mallory an administrator.
	gain = `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: mallory},
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin},
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: mallory}]}`
	password = "correct-horse"
)

// expectNoGain expects that mallory is not an administrator.
func expectNoGain(ctx context.Context) {
	GinkgoHelper()
	Expect(isAbsent(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: named("", "mallory")})()).To(BeTrue(),
		"mallory is an administrator")
	nodes := &corev1.NodeList{}
	Expect(mallory.List(ctx, nodes)).NotTo(Succeed())
}

// administrators creates a Secret with the kubeconfig of an administrator.
func administrators(ctx context.Context, namespace, name string) *corev1.Secret {
	GinkgoHelper()
	kubeconfig, err := os.ReadFile(cluster.Kubeconfig())
	Expect(err).NotTo(HaveOccurred())
	secret := &corev1.Secret{ObjectMeta: named(namespace, name), Data: map[string][]byte{"value": kubeconfig}}
	Expect(admin.Create(ctx, secret)).To(Succeed())
	return secret
}

// withKubeconfig returns a component whose target is the cluster of a kubeconfig.
func withKubeconfig(namespace, name, secret, manifest string) *v1alpha1.Component {
	c := newComponent(namespace, name, map[string]string{"a.yaml": manifest})
	c.Spec.Target = &metav1alpha1.KubeConfigSource{SecretRef: metav1alpha1.KubeConfigKey{Name: secret}}
	return c
}

var _ = Describe("A tenant with few rights", func() {
	unharmed()
	AfterEach(func(ctx SpecContext) {
		expectNoGain(ctx)
	}, NodeTimeout(time.Minute))

	It("does not use an administrator's kubeconfig that neither he nor his service "+
		"account may read", func(ctx SpecContext) {
		namespace := newBlindTenancy(ctx)
		secret := administrators(ctx, namespace, "administrator")
		Expect(mallory.Get(ctx, client.ObjectKeyFromObject(secret), &corev1.Secret{})).NotTo(Succeed())
		attack(ctx, withKubeconfig(namespace, "target", secret.Name, gain))
		expectEach(ctx, namespace, "Stalled Forbidden: ", "Ready Ready: ")
		expectNoGain(ctx)
	}, SpecTimeout(3*time.Minute))

	It("does not use a kubeconfig that an administrator put into a Secret after its first use", func(ctx SpecContext) {
		namespace := newBlindTenancy(ctx)
		far := &corev1.Secret{ObjectMeta: named(namespace, "far")}
		credentials, err := os.ReadFile(malloryUser.Kubeconfig)
		Expect(err).NotTo(HaveOccurred())
		far.Data = map[string][]byte{"value": credentials}
		Expect(admin.Create(ctx, far)).To(Succeed())
		readers := &rbacv1.ClusterRole{ObjectMeta: named("", "far"), Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}, ResourceNames: []string{"far"}},
		}}
		Expect(admin.Create(ctx, readers)).To(Succeed())
		identifiers := &rbacv1.ClusterRole{ObjectMeta: named("", "identifiers"), Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get"}},
		}}
		Expect(admin.Create(ctx, identifiers)).To(Succeed())
		bind(ctx, metav1.NamespaceSystem, identifiers.Name, rbacv1.Subject{
			APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind,
			Name: malloryName,
		})
		bind(ctx, namespace, readers.Name, accountIn(namespace, account))
		c := withKubeconfig(namespace, "target", far.Name, metadata)
		c.Spec.RetryDuration = &metav1.Duration{Duration: time.Second}
		attack(ctx, c)
		Eventually(ctx, status(ctx, namespace, c.Name)).Should(HavePrefix("Ready Ready: "))

		By("withdrawing the right, and replacing the kubeconfig by that of an administrator")
		Expect(admin.Delete(ctx, readers)).To(Succeed())
		kubeconfig, err := os.ReadFile(cluster.Kubeconfig())
		Expect(err).NotTo(HaveOccurred())
		far.Data["value"] = kubeconfig
		Expect(admin.Patch(ctx, far, client.RawPatch(types.MergePatchType, mergeData("value", kubeconfig)))).To(Succeed())
		changed := newComponent(namespace, c.Name, map[string]string{"a.yaml": metadata + "---\n" + gain})
		Expect(mallory.Patch(ctx, changed, client.Merge)).To(Succeed())
		expectEach(ctx, namespace, "Stalled Forbidden: ", "Ready Ready: ")
		expectNoGain(ctx)
		Expect(admin.Delete(ctx, c)).To(Succeed())
		bind(ctx, namespace, "edit", accountIn(namespace, account))
	}, SpecTimeout(3*time.Minute))

	It("does not write as anybody else", func(ctx SpecContext) {
		namespace := newTenancy(ctx)
		Expect(admin.Create(ctx, &corev1.ServiceAccount{ObjectMeta: named(namespace, "deployer")})).To(Succeed())
		Expect(admin.Create(ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: named("", namespace), RoleRef: rbacv1.RoleRef{
				APIGroup: rbacv1.GroupName, Kind: "ClusterRole",
				Name: "cluster-admin",
			},
			Subjects: []rbacv1.Subject{accountIn(namespace, "deployer")},
		})).To(Succeed())
		const stolen = "{apiVersion: v1, kind: ConfigMap, metadata: {name: stolen, namespace: good}}"
		other := newComponent(namespace, "other-account", map[string]string{"a.yaml": gain})
		other.Spec.ServiceAccount = "deployer"
		elsewhere := newComponent(namespace, "target-namespace",
			map[string]string{"a.yaml": strings.Replace(stolen, ", namespace: good", "", 1)})
		elsewhere.Spec.TargetNamespace = good
		attack(ctx, other, elsewhere,
			newComponent(namespace, "namespace", map[string]string{"a.yaml": stolen}),
			newComponent(namespace, "cluster", map[string]string{"a.yaml": gain}),
			newComponent(namespace, "role", map[string]string{"a.yaml": strings.Replace(gain, "ClusterRoleBinding",
				"RoleBinding", 1)}))
		for name, user := range map[string]*clientcmdapi.AuthInfo{
			"token-file":  {TokenFile: folder + "/kubeconfig"},
			"certificate": {ClientCertificate: folder + "/kubeconfig", ClientKey: folder + "/kubeconfig"},
			"impersonate": {Impersonate: "system:admin", ImpersonateGroups: []string{"system:masters"}},
			"program": {Exec: &clientcmdapi.ExecConfig{
				APIVersion: "client.authentication.k8s.io/v1", Command: "/bin/sh",
				Args:            []string{"-c", "touch " + folder + "/executed"},
				InteractiveMode: clientcmdapi.NeverExecInteractiveMode,
			}},
		} {
			keep(ctx, namespace, name, "value", string(kubeconfigOf(cluster.Config().Host, authority(), user)))
			attack(ctx, withKubeconfig(namespace, name, name, gain))
		}
		expectEach(ctx, namespace, "Stalled ")
		Expect(folder + "/executed").NotTo(BeAnExistingFile())
		Expect(isAbsent(ctx, &corev1.ConfigMap{ObjectMeta: named(good, "stolen")})()).To(BeTrue())
	}, SpecTimeout(3*time.Minute))

	It("does not read Secrets that his service account may not read", func(ctx SpecContext) {
		namespace := newBlindTenancy(ctx)
		var received atomic.Bool
		spy := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			content, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
			text := string(content) + r.Header.Get("Authorization")
			received.Store(received.Load() || strings.Contains(text, password))
		}))
		DeferCleanup(spy.Close)
		for _, where := range []string{namespace, good} {
			secret := &corev1.Secret{
				ObjectMeta: named(where, "login"),
				StringData: map[string]string{"values.yaml": "level: " + password},
			}
			Expect(admin.Create(ctx, secret)).To(Succeed())
			look := metadata + `data: {level: {{ lookup "v1" "Secret" "` + where + `" "login" | toJson | quote }}}`
			for engine := range strings.FieldsSeq(allEngines) {
				name := engine
				if where == good {
					name += "-elsewhere"
				}
				attack(ctx, newComponent(namespace, name, template(engine, look)))
			}
			observed := "{apiVersion: v1, kind: Secret, metadata: {name: login, namespace: " + where + ", annotations: {" +
				"fairlead.io/reconcile-policy: observe, fairlead.io/export: 'login=self.stringData[\"values.yaml\"]'}}}\n---\n"
			bound := `metadata: {name: stolen-` + where + `, annotations: {fairlead.io/bind: "true"}}` + "\n"
			const hole = `{level: '{{ "${{ login }}" }}'}` + "\n"
			absent := strings.Replace(strings.Replace(observed, "name: login", "name: none", 1), "---\n", "", 1)
			attack(ctx,
				newComponent(namespace, "absent-"+where, map[string]string{"a.yaml": absent}),
				newComponent(namespace, "export-"+where, map[string]string{
					"a.yaml": observed + "apiVersion: v1\nkind: Secret\n" + bound + "stringData: " + hole,
				}),
				newComponent(namespace, "leak-"+where, map[string]string{
					"a.yaml": observed + "apiVersion: v1\nkind: ConfigMap\n" + bound + "data: " + hole,
				}))
		}
		list := metadata + `data: {level: {{ lookup "v1" "Secret" "" "" | toJson | quote }}}`
		values := newComponent(namespace, "values", map[string]string{"a.yaml": settings})
		values.Spec.ValuesFrom = []metav1alpha1.ValuesReference{{Kind: metav1alpha1.SecretReference, Name: "login"}}
		function := newComponent(namespace, "function", nil)
		function.Spec.Source, function.Spec.Generator = v1alpha1.Source{}, "Function"
		function.Spec.Function = &v1alpha1.FunctionGenerator{
			URL: spy.URL, Items: []v1alpha1.FunctionItem{{Kind: metav1alpha1.SecretReference, Name: "login"}},
		}
		attack(ctx, values, function, newComponent(namespace, "list", map[string]string{"a.yaml": list}))
		expectEach(ctx, namespace, "Stalled Forbidden: ", "cannot get resource", "cannot list resource", "may not",
			"values of Secrets can be bound into the data of Secrets only")
		for _, where := range []string{namespace, good} {
			Expect(isAbsent(ctx, &corev1.Secret{ObjectMeta: named(namespace, "stolen-"+where)})()).To(BeTrue())
		}
		Expect(received.Load()).To(BeFalse(), "the Secret was sent to the function")
		expectSecret(ctx, namespace)
	}, SpecTimeout(3*time.Minute))
})

// expectSecret expects that mallory can read the password nowhere.
func expectSecret(ctx context.Context, namespace string) {
	GinkgoHelper()
	for _, list := range []client.ObjectList{&corev1.ConfigMapList{}, &v1alpha1.ComponentList{}, &corev1.EventList{}} {
		Expect(admin.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
		Expect(format(list)).NotTo(ContainSubstring(password))
	}
}
