package cli_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/function"
)

// recorder is a server of a tenant. It records all requests, with their headers and bodies.
type recorder struct {
	*httptest.Server
	mu       sync.Mutex
	requests []string
}

// newRecorder starts a recorder that responds with the given handler.
func newRecorder(answer http.Handler) *recorder {
	r := unstartedRecorder(answer)
	r.Start()
	return r
}

// newAPIRecorder starts a recorder with TLS, which kubeconfigs require.
func newAPIRecorder(answer http.Handler) *recorder {
	r := unstartedRecorder(answer)
	r.StartTLS()
	return r
}

func unstartedRecorder(answer http.Handler) *recorder {
	r := &recorder{}
	r.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		r.mu.Lock()
		r.requests = append(r.requests, fmt.Sprintln(req.Method, req.URL, req.Header, string(body)))
		r.mu.Unlock()
		req.Body = io.NopCloser(bytes.NewReader(body))
		answer.ServeHTTP(w, req)
	}))
	DeferCleanup(r.Close)
	return r
}

// received returns the requests so far.
func (r *recorder) received() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string{}, r.requests...)
}

// The Secret vault is for the administrator, and the Secret open is for the tenant.
const (
	vaultMarker = "admin-only-4711"
	openMarker  = "for-the-tenant-0815"
)

// tenantNamespace returns a namespace with the Secrets vault and open. The service account fairlead, which is the
// identity of components, may read all objects in it except for the Secrets that are not named.
func tenantNamespace(ctx context.Context, readable ...string) string {
	GinkgoHelper()
	namespace := newNamespace(ctx)
	for name, marker := range map[string]string{"vault": vaultMarker, "open": openMarker} {
		secretIn(ctx, namespace, name, "values.yaml", "password: "+marker)
	}
	named := ruleFor("secrets", "get")
	named.ResourceNames = append([]string{"open"}, readable...)
	grantTo(ctx, namespace, "fairlead", ruleFor("configmaps", "*"), named)
	return namespace
}

func secretIn(ctx context.Context, namespace, name, key, content string) {
	GinkgoHelper()
	Expect(k8s.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, StringData: map[string]string{key: content},
	})).To(Succeed())
}

func secretValues(secret string) []metav1alpha1.ValuesReference {
	return []metav1alpha1.ValuesReference{{Kind: metav1alpha1.SecretReference, Name: secret, ValuesKey: "values.yaml"}}
}

var _ = Describe("a component with a function", onCluster(func() {
	rendered := function.Handler(generator.GeneratorFunc(
		func(context.Context, generator.Request) ([]client.Object, error) {
			return []client.Object{&corev1.ConfigMap{
				TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
				ObjectMeta: metav1.ObjectMeta{Name: "settings"}, Data: map[string]string{"color": "blue"},
			}}, nil
		}), function.HandlerOptions{})

	// created creates the component of a tenant. Its function gets the content of a Secret.
	created := func(ctx context.Context, namespace, url, secret string) *v1alpha1.Component {
		GinkgoHelper()
		c := &v1alpha1.Component{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop"}}
		c.Spec.Generator = "Function"
		c.Spec.Function = &v1alpha1.FunctionGenerator{
			URL: url, Items: []v1alpha1.FunctionItem{{Kind: metav1alpha1.SecretReference, Name: secret}},
		}
		c.Spec.ValuesFrom = secretValues(secret)
		Expect(k8s.Create(ctx, c)).To(Succeed())
		return c
	}

	It("is not called by any command without --call-functions", func(ctx SpecContext) {
		server := newRecorder(rendered)
		namespace := tenantNamespace(ctx)
		created(ctx, namespace, server.URL, "vault")
		for _, line := range []string{"rbac shop", "plan shop", "diff shop", "diff shop --last-applied"} {
			r := fairlead(ctx, namespace, strings.Fields(line)...)
			Expect(r).To(And(HaveField("Code", 2), HaveField("Out", ""), HaveField("Err", And(
				ContainSubstring("would call "+server.URL+", and send the name and the values of the component, "+
					"values of Secret "+namespace+"/vault, the content of Secret "+namespace+"/vault, "+
					"all read as system:serviceaccount:"+namespace+":fairlead"),
				ContainSubstring("add --call-functions")))), line)
		}
		dir := folder(shopTemplates()...)
		for _, line := range []string{
			"plan shop " + dir, "diff shop " + dir, "apply shop " + dir, "plan shop --delete", "notes shop", "test shop",
			"tree shop", "status shop", "history shop", "events shop", "events shop -d", "logs shop", "list", "export shop",
			"suspend shop", "resume shop", "reconcile shop", "delete shop",
		} {
			fairlead(ctx, namespace, strings.Fields(line)...)
			Expect(server.received()).To(BeEmpty(), line)
		}
	})

	It("gets only what the identity of the component may read", func(ctx SpecContext) {
		server := newRecorder(rendered)
		namespace := tenantNamespace(ctx)
		c := created(ctx, namespace, server.URL, "vault")
		user := "system:serviceaccount:" + namespace + ":fairlead"
		for _, command := range []string{"rbac", "plan", "diff"} {
			Eventually(ctx, func() result { return fairlead(ctx, namespace, command, "shop", "--call-functions") }).
				Should(And(HaveField("Code", 3), HaveField("Err", And(
					HavePrefix("calling "+server.URL+" for component.fairlead.io/shop with "),
					ContainSubstring(user), ContainSubstring(`secrets "vault" is forbidden`)))), command)
		}
		Expect(server.received()).To(BeEmpty())

		c.Spec.ValuesFrom = secretValues("open")
		c.Spec.Function.Items[0].Name = "open"
		Expect(k8s.Update(ctx, c)).To(Succeed())
		for command, code := range map[string]int{"rbac": 0, "plan": 0, "diff": 1} {
			before := len(server.received())
			Eventually(ctx, func() result { return fairlead(ctx, namespace, command, "shop", "--call-functions") }).
				Should(And(HaveField("Code", code), HaveField("Err", And(
					HavePrefix("calling "+server.URL), ContainSubstring("all read as "+user))),
					HaveField("Out", ContainSubstring("onfig"))), command)
			Expect(len(server.received())).To(BeNumerically(">", before), command)
		}
		sent := strings.Join(server.received(), "")
		Expect(sent).To(And(ContainSubstring(openMarker), Not(ContainSubstring(vaultMarker))))
	})

	It("is called by why only with --call-functions, and otherwise the file is unknown", func(ctx SpecContext) {
		server := newRecorder(rendered)
		namespace := tenantNamespace(ctx)
		operate(namespace)
		created(ctx, namespace, server.URL, "open")
		Eventually(ctx, func() metav1alpha1.State { return shopIn(ctx, namespace).Status.State }).
			Should(Equal(metav1alpha1.StateReady))
		before := len(server.received())
		r := fairlead(ctx, namespace, "why", "configmap/settings")
		Expect(r).To(And(HaveField("Code", 0), HaveField("Out", And(
			ContainSubstring("would call "+server.URL), ContainSubstring("add --call-functions")))))
		Expect(server.received()).To(HaveLen(before))

		r = fairlead(ctx, namespace, "why", "configmap/settings", "--call-functions")
		Expect(r).To(And(HaveField("Code", 0), HaveField("Err", HavePrefix("calling "+server.URL)),
			HaveField("Out", ContainSubstring("functions are called only once"))))
		Expect(server.received()).To(HaveLen(before + 1))
	})

	It("is not called for a person who may not impersonate the identity of the component", func(ctx SpecContext) {
		server := newRecorder(rendered)
		namespace := tenantNamespace(ctx)
		created(ctx, namespace, server.URL, "open")
		// The role edit includes the right to impersonate service accounts.
		allow(ctx, namespace, "helper", mayView, "fairlead-components-viewer")
		for _, command := range []string{"rbac", "plan", "diff"} {
			Eventually(ctx, func() result {
				return fairlead(ctx, namespace, command, "shop", "--call-functions", "--as=helper")
			}).Should(And(HaveField("Code", 3), HaveField("Err", And(
				ContainSubstring("spec.function makes the command send data to "+server.URL),
				ContainSubstring("you may not impersonate it"),
				ContainSubstring("impersonate on serviceaccounts fairlead in the namespace "+namespace)))), command)
		}
		Expect(server.received()).To(BeEmpty())

		// A person who is the identity needs no other.
		allow(ctx, namespace, "system:serviceaccount:"+namespace+":fairlead", "fairlead-components-viewer")
		Eventually(ctx, func() result {
			return fairlead(ctx, namespace, "rbac", "shop", "--call-functions",
				"--as=system:serviceaccount:"+namespace+":fairlead")
		}).Should(HaveField("Code", 0))
		Expect(server.received()).NotTo(BeEmpty())
	})
}))

var _ = Describe("a component with a kubeconfig", onCluster(func() {
	// kubeconfigFor returns a kubeconfig for a server, with fields of its user and cluster.
	kubeconfigFor := func(server, user, cluster string) string {
		return fmt.Sprintf("{apiVersion: v1, kind: Config, current-context: c, "+
			"contexts: [{name: c, context: {cluster: c, user: u}}], "+
			"clusters: [{name: c, cluster: {insecure-skip-tls-verify: true, server: %q%s}}], users: [{name: u, user: {%s}}]}",
			server, cluster, user)
	}

	// created creates the component of a tenant. It renders the content of a Secret into an object for the other cluster.
	created := func(ctx context.Context, namespace, secret string) *v1alpha1.Component {
		GinkgoHelper()
		c := &v1alpha1.Component{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop"}}
		c.Finalizers = []string{"fairlead.io/finalizer"}
		c.Spec.Source.Inline = &v1alpha1.InlineSource{Files: map[string]string{
			"a.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {password: {{ .Values.password | quote }}}}",
		}}
		c.Spec.Values = &runtime.RawExtension{Raw: []byte(`{"color":"blue"}`)}
		c.Spec.ValuesFrom = secretValues(secret)
		c.Spec.Target = &metav1alpha1.KubeConfigSource{SecretRef: metav1alpha1.KubeConfigKey{Name: "there"}}
		Expect(k8s.Create(ctx, c)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { release(ctx, c) })
		return c
	}
	// commands returns the command lines that connect to the other cluster.
	commands := func() []string {
		return []string{
			"plan shop", "diff shop", "diff shop --last-applied", "plan shop " + folder(shopTemplates()...),
			"plan shop --delete",
		}
	}
	// withDelete adds the commands that change the component.
	withDelete := func(lines []string) []string {
		return append(lines, "apply shop "+folder(shopTemplates()...), "delete shop")
	}

	It("uses no kubeconfig that its identity may not read", func(ctx SpecContext) {
		server := newAPIRecorder(http.NotFoundHandler())
		namespace := tenantNamespace(ctx)
		secretIn(ctx, namespace, "there", metav1alpha1.DefaultKubeConfigKey,
			kubeconfigFor(server.URL, "token: "+vaultMarker, ""))
		created(ctx, namespace, "open")
		for _, line := range commands() {
			Expect(fairlead(ctx, namespace, strings.Fields(line)...)).To(And(HaveField("Code", 3), HaveField("Err", And(
				ContainSubstring("system:serviceaccount:"+namespace+":fairlead"),
				ContainSubstring(`secrets "there" is forbidden`)))), line)
		}
		for _, line := range withDelete([]string{"rbac shop", "notes shop", "why configmap/a", "tree shop"}) {
			fairlead(ctx, namespace, strings.Fields(line)...)
		}
		Expect(server.received()).To(BeEmpty())
	})

	It("gets only what its identity may read, and no credentials of the person", func(ctx SpecContext) {
		// The requests of the tenant's server go on to the API server, so that the commands reach their dry runs.
		deployer := must(kube.User(ctx, "tenant", "system:masters"))
		backend := must(url.Parse(deployer.Config.Host))
		server := newAPIRecorder(&httputil.ReverseProxy{
			Transport: must(rest.TransportFor(deployer.Config)),
			Rewrite: func(r *httputil.ProxyRequest) {
				r.SetURL(backend)
				r.Out.Header.Del("Authorization")
			},
		})
		namespace := tenantNamespace(ctx, "there")
		secretIn(ctx, namespace, "there", metav1alpha1.DefaultKubeConfigKey,
			kubeconfigFor(server.URL, "token: of-the-tenant", ""))
		c := created(ctx, namespace, "vault")
		for _, line := range []string{"plan shop", "diff shop", "diff shop --last-applied"} {
			Eventually(ctx, func() result { return fairlead(ctx, namespace, strings.Fields(line)...) }).
				Should(And(HaveField("Code", 3), HaveField("Err", ContainSubstring(`secrets "vault" is forbidden`))), line)
		}
		Expect(strings.Join(server.received(), "")).NotTo(ContainSubstring(vaultMarker))

		c.Spec.ValuesFrom = secretValues("open")
		Expect(k8s.Update(ctx, c)).To(Succeed())
		Expect(fairlead(ctx, namespace, "plan", "shop")).To(HaveField("Out", ContainSubstring(namespace+"/a")))
		sent := strings.Join(server.received(), "")
		Expect(sent).To(And(ContainSubstring(openMarker), Not(ContainSubstring(vaultMarker))))
		for _, line := range withDelete(commands()) {
			fairlead(ctx, namespace, strings.Fields(line)...)
		}
		sent = strings.Join(server.received(), "")
		Expect(sent).NotTo(Or(ContainSubstring(vaultMarker), ContainSubstring("Impersonate")))
		Expect(sent).To(ContainSubstring("Authorization:[Bearer of-the-tenant]"))
		Expect(strings.Count(sent, "Authorization:")).To(Equal(strings.Count(sent, "Authorization:[Bearer of-the-tenant]")))
	})

	It("is not used for a person who may not impersonate its identity", func(ctx SpecContext) {
		server := newAPIRecorder(http.NotFoundHandler())
		namespace := tenantNamespace(ctx, "there")
		secretIn(ctx, namespace, "there", metav1alpha1.DefaultKubeConfigKey,
			kubeconfigFor(server.URL, "token: of-the-tenant", ""))
		created(ctx, namespace, "open")
		allow(ctx, namespace, "assistant", mayView, "fairlead-components-viewer", "fairlead-components-editor")
		Expect(k8s.Create(ctx, &rbacv1.Role{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "sources"},
			Rules:      []rbacv1.PolicyRule{ruleFor("configmaps", "*")},
		})).To(Succeed())
		Expect(k8s.Create(ctx, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "sources"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "sources"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "assistant"}},
		})).To(Succeed())
		for _, line := range commands() {
			Eventually(ctx, func() result {
				return fairlead(ctx, namespace,
					append(strings.Fields(line), "--as=assistant")...)
			}).
				Should(And(HaveField("Code", 3), HaveField("Err", And(
					ContainSubstring("the server that Secret "+namespace+"/there names"),
					ContainSubstring("you may not impersonate it")))), line)
		}
		r := fairlead(ctx, namespace, "apply", "shop", folder(shopTemplates()...), "--as=assistant")
		Expect(r).To(And(HaveField("Code", 0), HaveField("Err",
			HavePrefix("warning: there is no plan, so nothing is checked before the write: "))))
		r = fairlead(ctx, namespace, "delete", "shop", "--as=assistant")
		Expect(r).To(And(HaveField("Code", 0), HaveField("Err",
			HavePrefix("warning: the command does not search for foreign instances in the other cluster: "))))
		Expect(server.received()).To(BeEmpty())
	})

	DescribeTable("that names programs or files of the person's machine is refused",
		func(ctx SpecContext, user, cluster, want string) {
			dir := GinkgoT().TempDir()
			file, trace := filepath.Join(dir, "token"), filepath.Join(dir, "trace")
			Expect(os.WriteFile(file, []byte(vaultMarker), 0o600)).To(Succeed())
			server := newAPIRecorder(http.NotFoundHandler())
			namespace := tenantNamespace(ctx, "there")
			insert := strings.NewReplacer("FILE", file, "TRACE", trace)
			secretIn(ctx, namespace, "there", metav1alpha1.DefaultKubeConfigKey,
				kubeconfigFor(server.URL, insert.Replace(user), insert.Replace(cluster)))
			created(ctx, namespace, "open")
			for _, line := range commands() {
				Eventually(ctx, func() result { return fairlead(ctx, namespace, strings.Fields(line)...) }).
					Should(HaveField("Err", ContainSubstring(want)), line)
			}
			for _, line := range withDelete(nil) {
				fairlead(ctx, namespace, strings.Fields(line)...)
			}
			Expect(server.received()).To(BeEmpty())
			Expect(trace).NotTo(BeAnExistingFile())
		},
		Entry("a program for credentials",
			"exec: {apiVersion: client.authentication.k8s.io/v1, command: touch, args: [TRACE], interactiveMode: Never}", "",
			"exec would run a program"),
		Entry("a plugin for credentials", "auth-provider: {name: oidc, config: {cmd-path: touch, cmd-args: TRACE}}", "",
			"auth-provider would run a program"),
		Entry("a file with a token", "tokenFile: FILE", "", "tokenFile names a file"),
		Entry("a file with a client certificate", "client-certificate: FILE, client-key-data: eA==", "",
			"client-certificate names a file"),
		Entry("a file with a client key", "client-certificate-data: eA==, client-key: FILE", "", "client-key names a file"),
		Entry("a file with certificates", "token: a", ", certificate-authority: FILE", "certificate-authority names a file"),
	)
}))
