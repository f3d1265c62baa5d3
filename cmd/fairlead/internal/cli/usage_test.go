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
	DescribeTable("answers 2 with one line and a hint to bad usage", func(ctx SpecContext, line string, want ...string) {
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
		Entry("a command that is like none", "frobnicate", `unknown command "frobnicate" for "fairlead"`),
		Entry("an unknown flag", "tree shop --colour", "--colour"),
		Entry("no name", "tree", "the component (NAME) is missing; usage: fairlead tree NAME | TYPE/NAME [flags]"),
		Entry("no folder", "apply shop", "the folder (DIR) or archive (ARCHIVE) is missing; usage: fairlead apply NAME DIR|ARCHIVE [flags]"),
		Entry("neither name nor folder", "apply", "the component (NAME) and the folder (DIR) or archive (ARCHIVE) are missing; usage: "),
		Entry("no name where there may be more", "logs", "the component (NAME) is missing"),
		Entry("no object", "why", "the object (TYPE/NAME) is missing"),
		Entry("no source", "render", "the folder (DIR) or archive (ARCHIVE) is missing"),
		Entry("no project", "scaffold", "the folder (DIR) is missing"),
		Entry("too many arguments", "delete a b", `unexpected argument "b"; usage: fairlead delete NAME | TYPE/NAME [flags]`),
		Entry("too many arguments where there may be none", "list widgets b", `unexpected argument "b"`),
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
		Entry("roles of nothing", "rbac", "the component (NAME) is missing"),
		Entry("roles for a way to watch that there is not", "rbac shop --dir . --observe everything",
			`--observe "everything"`, "cluster, namespaces, identity"),
		Entry("roles of a folder for a type", "rbac widgets/shop --dir .", `component "widgets/shop"`, "only a name"),
		Entry("roles for a bad account", "rbac shop --dir . --service-account Shop_1", "--service-account"),
		Entry("roles of a component with values of a folder", "rbac shop --set a=b", "without --dir"),
		Entry("a bad time-out of requests", "tree shop --request-timeout soon", "--request-timeout"),
	)

	DescribeTable("answers 2 with one line to bad input", func(ctx SpecContext, args []string, want string) {
		GinkgoT().Chdir(folder("chart/Chart.yaml", "name: shop", "bad.yaml", "a: 1\n\tb: 2\n"))
		r := run(ctx, append([]string{"fairlead"}, args...)...)
		Expect(r.Code).To(Equal(2))
		Expect(r.Err).To(And(HavePrefix("fairlead: "), ContainSubstring(want), HaveSuffix("\n")))
		Expect(strings.Count(r.Err, "\n")).To(Equal(1))
	},
		Entry("a missing folder", []string{"apply", "shop", "nowhere"}, `"nowhere" does not exist; want a folder, or a .tgz archive`),
		Entry("a file instead of a folder", []string{"apply", "shop", "bad.yaml"}, `archive "bad.yaml": not a .tgz archive`),
		Entry("a bad file of values", []string{"apply", "shop", "chart", "-f", "bad.yaml"}, "bad.yaml:2: invalid YAML"),
		Entry("a missing file of values", []string{"apply", "shop", "chart", "-f", "none.yaml"}, "none.yaml: no such file"),
		Entry("roles of a missing folder", []string{"rbac", "shop", "--dir", "nowhere"}, "nowhere"),
		Entry("a bad assignment", []string{"apply", "shop", "chart", "--set", "a"}, "--set number 1"),
	)

	DescribeTable("answers 3 when no cluster can be asked", func(ctx SpecContext, flags []string, want string) {
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
		Entry("nobody listening at the cluster of a context", []string{"--kubeconfig=clusters", "--context=whole"},
			"127.0.0.1:1"),
		Entry("nobody listening at a cluster", []string{"--kubeconfig=clusters", "--cluster=here"}, "127.0.0.1:1"),
		Entry("an unknown context", []string{"--context=nowhere"}, "specified context: nowhere"),
		Entry("nobody listening", []string{"--server=https://127.0.0.1:1"}, "127.0.0.1:1"),
		Entry("no answer in time", []string{"--server=https://192.0.2.1", "--request-timeout=100ms"}, "192.0.2.1"),
	)

	DescribeTable("answers with 128 plus the number of the signal when it is interrupted",
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

	DescribeTable("refuses a manifest instead of values, and says what to do", func(ctx SpecContext, args ...string) {
		GinkgoT().Chdir(folder("chart/Chart.yaml", "name: shop",
			"shop.yaml", "apiVersion: fairlead.io/v1alpha1\nkind: Component\nmetadata: {name: shop}\n"))
		r := run(ctx, append([]string{"fairlead"}, args...)...)
		Expect(r).
			To(Equal(result{
				Code: 2,
				Err: "fairlead: shop.yaml: this is a manifest of kind Component, and -f expects values, such as replicas: 2; " +
					"kubectl apply -f applies a manifest; to make it part of a component, put it into the folder: fairlead apply " +
					"NAME DIR\n",
			}))
	},
		Entry("apply as kubectl has it", "apply", "-f", "shop.yaml"),
		Entry("apply without a folder", "apply", "shop", "-f", "shop.yaml"),
		Entry("apply", "apply", "shop", "chart", "-f", "shop.yaml"),
		Entry("render", "render", "chart", "-f", "shop.yaml"),
	)

	It("is a plugin of kubectl by its name", func(ctx SpecContext) {
		r := run(ctx, "/usr/bin/kubectl-fairlead", "apply", "--help")
		Expect(r.Code).To(Equal(0))
		Expect(r.Out).To(ContainSubstring("Usage:\n  kubectl fairlead apply NAME DIR|ARCHIVE [flags]\n"))
		r = run(ctx, "kubectl-fairlead", "apply")
		Expect(r.Err).To(And(HavePrefix("kubectl fairlead: "), HaveSuffix("See 'kubectl fairlead apply --help'.\n")))
	})

	It("explains its exit codes, tells its version, and completes", func(ctx SpecContext) {
		Expect(run(ctx, "fairlead", "help", "exit-codes").Out).To(ContainSubstring("3  the cluster could not be asked"))
		Expect(run(ctx, "fairlead", "version")).To(Equal(result{Out: "dev\n"}))
		Expect(run(ctx, "fairlead", "completion", "bash").Out).To(ContainSubstring("__start_fairlead"))
		Expect(run(ctx, "fairlead").Out).To(ContainSubstring("Additional help topics:\n  fairlead exit-codes"))
	})
})

var _ = Describe("the connection", onCluster(func() {
	It("is that of kubectl's flags", func(ctx SpecContext) {
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
			To(Equal(0), "the certificate still counts")
		kubeconfig := withoutUser(kube, namespace)
		r = run(ctx, "fairlead", "--kubeconfig", kubeconfig, "list")
		Expect(r.Code).To(Equal(3), "the current context has no user")
		r = run(ctx, "fairlead", "--kubeconfig", kubeconfig, "--context=admin", "list")
		Expect(r).To(And(HaveField("Code", 0), HaveField("Out", ContainSubstring("shop"))), "the context names the namespace")
		r = run(ctx, "fairlead", "--kubeconfig", kubeconfig, "--user=admin", "--cluster=real", "-n", namespace, "tree",
			"shop")
		Expect(r.Code).To(Equal(0), r.Err)
		r = run(ctx, "fairlead", "--kubeconfig", kubeconfig, "--context=admin", "--token=wrong", "--user=nobody", "list")
		Expect(r.Code).To(Equal(3), "a token that nobody has")
	})

	// tree asks for an object of a type, and remembers no types from before.
	tree := func(ctx SpecContext, namespace, kind string) result {
		return fairlead(ctx, namespace, "tree", kind+"/t", "--cache-dir", GinkgoT().TempDir())
	}

	DescribeTable("does not choose among types of several groups",
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
		Entry("by their name, where one group looks like one of Kubernetes", "gates.gate.k8s.io", "gates.one.example.com",
			"gate"),
		Entry("by their short name", "doves.one.example.com", "ducks.two.example.com", "du", "du"),
	)

	It("takes types of Kubernetes itself before others", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		define(ctx, "leases.one.example.com")
		for _, name := range []string{"leases.one.example.com", "lease.coordination.k8s.io"} {
			Eventually(ctx, func() string { return tree(ctx, namespace, name).Err }).Should(ContainSubstring("does not exist"))
		}
		Expect(tree(ctx, namespace, "lease")).To(And(HaveField("Code", 1),
			HaveField("Err", ContainSubstring("lease.coordination.k8s.io/t"))))
	})

	It("has its limits in the cluster, not here", func(ctx SpecContext) {
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

// define makes a type from the name of its resource and group, and its short names.
func define(ctx context.Context, name string, short ...string) {
	GinkgoHelper()
	plural, group, _ := strings.Cut(name, ".")
	singular := strings.TrimSuffix(plural, "s")
	kind := strings.ToUpper(singular[:1]) + singular[1:]
	text := strings.NewReplacer("plain.example.com", group, "Plain", kind, "plain", singular).Replace(plainType)
	definition := must(manifests.Decode("crd.yaml", []byte(text)))[0]
	Expect(unstructured.SetNestedStringSlice(definition.Object, short, "spec", "names", "shortNames")).To(Succeed())
	// The API server asks this of groups that look like its own.
	definition.SetAnnotations(map[string]string{"api-approved.kubernetes.io": "unapproved, for a test"})
	Expect(k8s.Create(ctx, definition)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(k8s.Delete(ctx, definition)).To(Succeed()) })
}

// withoutUser writes a kubeconfig whose current context cannot log in, but others can.
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
