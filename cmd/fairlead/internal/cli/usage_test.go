package cli_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

var _ = Describe("the command line", func() {
	DescribeTable("has exit code 2 with one line and a hint for", func(ctx SpecContext, line string, want ...string) {
		r := run(ctx, append([]string{"fairlead"}, strings.Fields(line)...)...)
		Expect(r.Code).To(Equal(2))
		Expect(r.Out).To(BeEmpty())
		lines := strings.Split(strings.TrimSuffix(r.Err, "\n"), "\n")
		Expect(lines).To(HaveLen(2))
		Expect(lines[0]).To(HavePrefix("fairlead: "))
		for _, text := range want {
			Expect(lines[0]).To(ContainSubstring(text))
		}
		Expect(lines[1]).To(MatchRegexp(`^See 'fairlead.* --help'\.$`))
	},
		Entry("an unknown command", "statsu shop --wait",
			`unknown command "statsu" for "fairlead"; Did you mean this? status`),
		Entry("a command without similar names", "frobnicate", `unknown command "frobnicate" for "fairlead"`),
		Entry("an unknown flag", "tree shop --colour", "--colour"),
		Entry("no name", "tree", "the component (NAME) is missing; usage: fairlead tree NAME | TYPE/NAME [flags]"),
		Entry("no folder", "apply shop",
			"the folder (DIR), archive (ARCHIVE) or URL is missing; usage: fairlead apply NAME DIR|ARCHIVE|URL [flags]"),
		Entry("neither name nor folder", "apply",
			"the component (NAME) and the folder (DIR), archive (ARCHIVE) or URL are missing; usage: "),
		Entry("no name for a command with optional arguments", "logs", "the component (NAME) is missing"),
		Entry("no object", "why", "the object (TYPE/NAME) is missing"),
		Entry("no source", "render", "the folder (DIR), archive (ARCHIVE) or URL is missing"),
		Entry("no project", "scaffold", "the folder (DIR) is missing"),
		Entry("too many arguments", "suspend a b",
			`unexpected argument "b"; usage: fairlead suspend NAME | TYPE/NAME [flags]`),
		Entry("too many arguments for a command with one optional argument", "list widgets b", `unexpected argument "b"`),
		Entry("too many arguments for a shell", "completion bash b", `unexpected argument "b"`),
		Entry("no shell", "completion", "the shell is missing: want bash, fish, powershell, zsh"),
		Entry("an unknown shell", "completion foo", `unknown shell "foo": want bash, fish, powershell, zsh`),
		Entry("help on an unknown command", "help nix", `unknown command "nix" for "fairlead"`),
		Entry("help on an argument", "help tree shop", `unknown command "shop" for "fairlead tree"`),
		Entry("no name after the type", "tree widgets/", `component "widgets/"`, "TYPE/NAME"),
		Entry("no type before the name", "tree /shop", "TYPE/NAME"),
		Entry("two slashes", "delete a/b/c", `component "a/b/c"`),
		Entry("an unknown format", "tree shop -o jsonpath", `"jsonpath"`, "wide, name, json or yaml"),
		Entry("a format of list", "list -o csv", "wide, name, json or yaml"),
		Entry("a format of plan", "plan shop -o wide", `"wide": want json or yaml`),
		Entry("a format of why", "why pod/web -o table", `"table": want json or yaml`),
		Entry("a format of history", "history shop -o name", "want wide, json or yaml"),
		Entry("an unknown generator", "apply shop . --generator Jsonnet", "Helm, Kustomize, GoTemplate"),
		Entry("a bad namespace", "apply shop . --target-namespace Shop_1", "--target-namespace"),
		Entry("a bad release name", "apply shop . --target-name Shop_1", "--target-name"),
		Entry("a bad account", "apply shop . --service-account Shop_1", "--service-account"),
		Entry("a bad duration", "apply shop . --timeout soon", "--timeout"),
		Entry("a negative duration", "delete shop --timeout -5m", "--timeout"),
		Entry("rbac without a name", "rbac", "the component (NAME) is missing"),
		Entry("roles for an unknown watch scope", "rbac shop --dir . --observe everything",
			`--observe "everything"`, "cluster, namespaces, identity"),
		Entry("roles of a folder with a type",
			"rbac widgets/shop --dir .", `component "widgets/shop"`, "a name without a type"),
		Entry("roles for a bad account", "rbac shop --dir . --service-account Shop_1", "--service-account"),
		Entry("roles of a component in the cluster with values", "rbac shop --set a=b", "without --dir"),
		Entry("a bad time-out of requests", "tree shop --request-timeout soon", "--request-timeout"),
	)

	DescribeTable("has exit code 2 with one line for bad input:", func(ctx SpecContext, args []string, want string) {
		GinkgoT().Chdir(folder("chart/Chart.yaml", "name: shop", "bad.yaml", "a: 1\n\tb: 2\n"))
		r := run(ctx, append([]string{"fairlead"}, args...)...)
		Expect(r.Code).To(Equal(2))
		Expect(r.Err).To(And(HavePrefix("fairlead: "), ContainSubstring(want), HaveSuffix("\n")))
		Expect(strings.Count(r.Err, "\n")).To(Equal(1))
	},
		Entry("a missing folder", []string{"apply", "shop", "nowhere"},
			`"nowhere" does not exist; name a folder or a .tgz archive`),
		Entry("a file instead of a folder", []string{"apply", "shop", "bad.yaml"}, `archive "bad.yaml": not a .tgz archive`),
		Entry("a bad file of values", []string{"apply", "shop", "chart", "-f", "bad.yaml"}, "bad.yaml:2: invalid YAML"),
		Entry("a missing file of values", []string{"apply", "shop", "chart", "-f", "none.yaml"}, "none.yaml: no such file"),
		Entry("roles of a missing folder", []string{"rbac", "shop", "--dir", "nowhere"}, "nowhere"),
		Entry("a bad assignment", []string{"apply", "shop", "chart", "--set", "a"}, "--set number 1"),
	)

	DescribeTable("has exit code 3 without access to a cluster:", func(ctx SpecContext, flags []string, want string) {
		GinkgoT().Setenv("KUBECONFIG", filepath.Join(folder(), "none"))
		GinkgoT().Setenv("HOME", folder())
		const clusters = "apiVersion: v1\nkind: Config\nclusters: [{name: here, cluster: {server: " +
			"\"https://127.0.0.1:1\"}}]\n"
		GinkgoT().Chdir(folder("kubeconfig", "apiVersion: v1\nkind: Config\nclusters: 7\n", "clusters", clusters+
			"contexts: [{name: whole, context: {cluster: here}}, {name: half, context: {namespace: apps}}]\n"))
		r := run(ctx, append([]string{"fairlead", "list"}, flags...)...)
		Expect(r.Code).To(Equal(3))
		Expect(r.Err).To(And(HavePrefix("fairlead: "), ContainSubstring(want)))
		Expect(strings.Count(r.Err, "\n")).To(Equal(1))
	},
		Entry("a missing kubeconfig", []string{"--kubeconfig=nowhere"}, "nowhere"),
		Entry("a KUBECONFIG that names no file", nil, "none; name a file with KUBECONFIG or --kubeconfig"),
		Entry("a broken kubeconfig", []string{"--kubeconfig=kubeconfig"}, "kubeconfig"),
		Entry("no current context", []string{"--kubeconfig=clusters"},
			"no current context in clusters; name one with --context"),
		Entry("a context without a cluster", []string{"--kubeconfig=clusters", "--context=half"},
			`the context "half" names no cluster`),
		Entry("no server at the address of a context's cluster", []string{"--kubeconfig=clusters", "--context=whole"},
			"127.0.0.1:1"),
		Entry("no server at the address of a cluster", []string{"--kubeconfig=clusters", "--cluster=here"}, "127.0.0.1:1"),
		Entry("an unknown context", []string{"--context=nowhere"}, "specified context: nowhere"),
		Entry("nobody listening", []string{"--server=https://127.0.0.1:1"}, "127.0.0.1:1"),
		Entry("no response in time", []string{"--server=https://192.0.2.1", "--request-timeout=100ms"}, "192.0.2.1"),
	)

	DescribeTable("has the exit code 128 plus the number of the signal after an interruption by",
		func(ctx SpecContext, cause error, want int) {
			interrupted, interrupt := context.WithCancelCause(ctx)
			interrupt(cause)
			r := run(interrupted, "fairlead", "render", folder("web.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\n"))
			Expect(r).To(Equal(result{Code: want, Err: "fairlead: interrupted\n"}))
		},
		Entry("SIGINT", exit.SignalError{Signal: syscall.SIGINT}, 130),
		Entry("SIGTERM", exit.SignalError{Signal: syscall.SIGTERM}, 143),
		Entry("a context that ends without a signal", nil, 130),
	)

	DescribeTable("refuses a manifest instead of values, with a hint,", func(ctx SpecContext, args ...string) {
		GinkgoT().Chdir(folder("chart/Chart.yaml", "name: shop",
			"shop.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop}\n"))
		r := run(ctx, append([]string{"fairlead"}, args...)...)
		Expect(r).
			To(Equal(result{
				Code: 2,
				Err: "fairlead: shop.yaml: this is a manifest of kind ConfigMap, and -f expects values, such as replicas: 2; " +
					"kubectl apply -f applies a manifest; to make it part of a component, put it into the folder: fairlead apply " +
					"NAME DIR\n",
			}))
	},
		Entry("in the form of kubectl apply", "apply", "-f", "shop.yaml"),
		Entry("without a folder", "apply", "shop", "-f", "shop.yaml"),
		Entry("apply", "apply", "shop", "chart", "-f", "shop.yaml"),
		Entry("render", "render", "chart", "-f", "shop.yaml"),
	)

	It("is a plugin of kubectl if its program is called kubectl-fairlead", func(ctx SpecContext) {
		r := run(ctx, "/usr/bin/kubectl-fairlead", "apply", "--help")
		Expect(r.Code).To(Equal(0))
		Expect(r.Out).To(ContainSubstring("Usage:\n  kubectl fairlead apply NAME DIR|ARCHIVE|URL [flags]\n"))
		r = run(ctx, "kubectl-fairlead", "apply")
		Expect(r.Err).To(And(HavePrefix("kubectl fairlead: "), HaveSuffix("See 'kubectl fairlead apply --help'.\n")))
	})

	It("explains its exit codes, prints its version, and completes arguments", func(ctx SpecContext) {
		Expect(run(ctx, "fairlead", "help", "exit-codes").Out).To(ContainSubstring("3  no access to the cluster"))
		Expect(run(ctx, "fairlead", "version", "--client")).To(Equal(result{Out: "Client Version: dev\n"}))
		Expect(run(ctx, "fairlead", "completion", "bash").Out).To(ContainSubstring("__start_fairlead"))
		Expect(run(ctx, "fairlead").Out).To(ContainSubstring("Topics:\n  exit-codes  What the exit codes mean\n"))
	})
})

var _ = Describe("the connection", onCluster(func() {
	It("is determined by the same flags as in kubectl", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		Expect(k8s.Create(ctx, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "crew"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "fairlead-components-viewer"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: "crew"}},
		})).To(Succeed())
		held(ctx, namespace, "shop")

		r := fairlead(ctx, namespace, "list", "--as=joe")
		Expect(r.Code).To(Equal(3))
		Expect(r.Err).To(And(HavePrefix("fairlead: "), ContainSubstring(`User "joe" cannot list resource "components"`)))
		Expect(strings.Count(r.Err, "\n")).To(Equal(1))
		for _, args := range [][]string{{"tree", "shop"}, {"delete", "shop"}, {"apply", "shop", folder("web.yaml", "")}} {
			Expect(fairlead(ctx, namespace, append(args, "--as=joe")...).Code).To(Equal(3))
		}
		Eventually(ctx, func() result { return fairlead(ctx, namespace, "list", "--as=joe", "--as-group=crew") }).
			Should(HaveField("Code", 0))
		Expect(requests(ctx, namespace, "components")).To(ContainElement(And(
			HaveField("ImpersonatedUser", "joe"), HaveField("Code", 200))))

		Expect(fairlead(ctx, namespace, "list", "--token=wrong", "--client-certificate=", "--client-key=").Code).
			To(Equal(0), "the command must succeed, because the client certificate still authenticates the user")
		kubeconfig := withoutUser(kube, namespace)
		r = run(ctx, "fairlead", "--kubeconfig", kubeconfig, "list")
		Expect(r.Code).To(Equal(3), "the command must fail, because the current context has no user")
		r = run(ctx, "fairlead", "--kubeconfig", kubeconfig, "--context=admin", "list")
		Expect(r).To(And(HaveField("Code", 0), HaveField("Out", ContainSubstring("shop"))),
			"the command must use the namespace of the context")
		r = run(ctx, "fairlead", "--kubeconfig", kubeconfig, "--user=admin", "--cluster=real", "-n", namespace, "tree",
			"shop")
		Expect(r.Code).To(Equal(0), r.Err)
		r = run(ctx, "fairlead", "--kubeconfig", kubeconfig, "--context=admin", "--token=wrong", "--user=nobody", "list")
		Expect(r.Code).To(Equal(3), "the command must fail, because the token is invalid")
	})

	// tree runs the command tree for a type, with an empty discovery cache.
	tree := func(ctx SpecContext, namespace, kind string) result {
		return fairlead(ctx, namespace, "tree", kind+"/t", "--cache-dir", GinkgoT().TempDir())
	}

	DescribeTable("refuses an ambiguous type, and lists the types",
		func(ctx SpecContext, one, other, name string, short ...string) {
			namespace := newNamespace(ctx)
			define(ctx, one, short...)
			define(ctx, other, short...)
			Eventually(ctx, func() result { return tree(ctx, namespace, name) }).Should(Equal(result{
				Code: 2, Err: "fairlead: type \"" + name + "\" is ambiguous: name one of " + one + ", " + other + "\n",
			}))
			Expect(tree(ctx, namespace, other)).To(And(HaveField("Code", 1),
				HaveField("Err", ContainSubstring("does not exist"))))
		},
		Entry("by their name", "twins.one.example.com", "twins.two.example.com", "twin"),
		Entry("by their name, if one group has a suffix of Kubernetes groups", "gates.gate.k8s.io", "gates.one.example.com",
			"gate"),
		Entry("by their short name", "doves.one.example.com", "ducks.two.example.com", "du", "du"),
	)

	It("prefers built-in types over other types", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		define(ctx, "leases.one.example.com")
		for _, name := range []string{"leases.one.example.com", "lease.coordination.k8s.io"} {
			Eventually(ctx, func() string { return tree(ctx, namespace, name).Err }).Should(ContainSubstring("does not exist"))
		}
		Expect(tree(ctx, namespace, "lease")).To(And(HaveField("Code", 1),
			HaveField("Err", ContainSubstring("lease.coordination.k8s.io/t"))))
	})

	It("is limited by the types that the cluster serves", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		r := fairlead(ctx, namespace, "tree", "sprockets/shop")
		Expect(r).To(Equal(result{Code: 2, Err: "fairlead: the cluster does not serve a type \"sprockets\"; kubectl " +
			"api-resources lists the types that it serves\n"}))
		r = fairlead(ctx, namespace, "tree", "shop")
		Expect(r.Code).To(Equal(1))
		Expect(uninstalled.Code).To(Equal(3))
		Expect(uninstalled.Err).To(Equal("fairlead: the cluster does not serve components.fairlead.io, version v1alpha1; " +
			"install the custom resource definition of components first\n"))
	})
}))

// define creates a type from the name of its resource and group, and its short names.
func define(ctx context.Context, name string, short ...string) {
	GinkgoHelper()
	plural, group, _ := strings.Cut(name, ".")
	singular := strings.TrimSuffix(plural, "s")
	kind := strings.ToUpper(singular[:1]) + singular[1:]
	text := strings.NewReplacer("plain.example.com", group, "Plain", kind, "plain", singular).Replace(plainType)
	definition := must(manifests.Decode("crd.yaml", []byte(text)))[0]
	Expect(unstructured.SetNestedStringSlice(definition.Object, short, "spec", "names", "shortNames")).To(Succeed())
	// The API server requires this annotation for groups that end in .k8s.io.
	definition.SetAnnotations(map[string]string{"api-approved.kubernetes.io": "unapproved, for a test"})
	Expect(k8s.Create(ctx, definition)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(k8s.Delete(ctx, definition)).To(Succeed()) })
}

// withoutUser writes a kubeconfig with a current context that has no user, and with other contexts that have one.
func withoutUser(cluster *testcluster.Cluster, namespace string) string {
	GinkgoHelper()
	config := must(clientcmd.LoadFromFile(cluster.Kubeconfig()))
	current := config.Contexts[config.CurrentContext]
	config.Clusters["real"], config.AuthInfos["admin"] = config.Clusters[current.Cluster],
		config.AuthInfos[current.AuthInfo]
	config.AuthInfos["nobody"] = config.AuthInfos[current.AuthInfo].DeepCopy()
	config.AuthInfos["nobody"].ClientCertificateData, config.AuthInfos["nobody"].ClientKeyData = nil, nil
	config.AuthInfos["nobody"].ClientCertificate, config.AuthInfos["nobody"].ClientKey,
		config.AuthInfos["nobody"].Token = "", "", ""
	admin := current.DeepCopy()
	admin.Cluster, admin.AuthInfo, admin.Namespace = "real", "admin", namespace
	config.Contexts["admin"] = admin
	anonymous := admin.DeepCopy()
	anonymous.AuthInfo = "nobody"
	config.Contexts["anonymous"], config.CurrentContext = anonymous, "anonymous"
	file := filepath.Join(GinkgoT().TempDir(), "kubeconfig")
	Expect(clientcmd.WriteToFile(*config, file)).To(Succeed())
	Expect(os.Chmod(file, 0o600)).To(Succeed())
	return file
}
