package docs_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/config"
	"github.com/fairlead-io/fairlead/test/docs"
	"github.com/fairlead-io/fairlead/test/program"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

// nodes is the number of fake nodes of a cluster. It is the same as for "make dev".
const nodes = 3

// exampleNamespace is the namespace in examples. It exists in clusters with an operator.
const exampleNamespace = "apps"

// stage holds the clusters for pages. A cluster is started when it is needed.
type stage struct {
	root string
	// tools is the folder with the programs that pages use.
	tools string
	// environment is the environment of the commands on all pages.
	environment []string
	// shared is the cluster for pages that need no cluster of their own.
	shared *site
	// own are the clusters that only the current page uses.
	own []*site
}

// site is a cluster, and optionally an operator.
type site struct {
	cluster  *testcluster.Cluster
	admin    client.Client
	operator *program.Operator
	log      string
}

// session returns a session for a page, with its clusters and programs.
func (s *stage) session(t *testing.T, page *docs.Page) *docs.Session {
	t.Helper()
	if s.tools == "" {
		s.prepare(t)
	}
	here, namespace := s.siteOf(t, page)
	home, dir := t.TempDir(), t.TempDir()
	kubeconfig := filepath.Join(home, "kubeconfig")
	s.kubeconfig(t, here, kubeconfig, namespace)
	session, err := docs.NewSession(s.root, dir, filepath.Join(home, "state"),
		append(slices.Clone(s.environment), "HOME="+home, "KUBECONFIG="+kubeconfig))
	if err != nil {
		t.Fatal(err)
	}
	if page.Has(remoteDirective) {
		s.kubeconfig(t, s.startOwn(t, false), filepath.Join(dir, "remote.kubeconfig"), metav1.NamespaceDefault)
	}
	return session
}

// siteOf returns the cluster for a page, and the default namespace of its commands.
func (s *stage) siteOf(t *testing.T, page *docs.Page) (here *site, namespace string) {
	t.Helper()
	switch {
	case page.Has(bareDirective):
		return s.startOwn(t, false), metav1.NamespaceDefault
	case page.Has(ownDirective):
		return s.startOwn(t, true), metav1.NamespaceDefault
	case s.shared == nil:
		s.shared = s.start(t, true)
	}
	namespace = strings.NewReplacer("/", "-", ".md", "").Replace(strings.ToLower(page.Path))
	object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if err := s.shared.admin.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	return s.shared, namespace
}

// kubeconfig writes a kubeconfig for the administrator of a cluster.
func (s *stage) kubeconfig(t *testing.T, here *site, path, namespace string) {
	t.Helper()
	content, err := clientcmd.LoadFromFile(here.cluster.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	for _, kubecontext := range content.Contexts {
		kubecontext.Namespace = namespace
	}
	if err := clientcmd.WriteToFile(*content, path); err != nil {
		t.Fatal(err)
	}
}

// prepare builds the programs that pages use. The go command skips programs that are up to date.
func (s *stage) prepare(t *testing.T) {
	t.Helper()
	built := filepath.Join(s.root, "bin", "docs")
	s.command(t, "go", "build", "-buildvcs=false", "-o", built+string(filepath.Separator), "./cmd/...")
	s.tools = t.TempDir()
	for name, file := range map[string]string{
		"fairlead":          filepath.Join(built, "fairlead"),
		"kubectl-fairlead":  filepath.Join(built, "fairlead"),
		"fairlead-operator": filepath.Join(built, "fairlead-operator"),
		"kubectl":           filepath.Join(s.root, "bin", "kubectl"),
		"helm":              filepath.Join(s.root, "bin", "helm"),
		"devcluster":        filepath.Join(s.root, "bin", "devcluster"),
	} {
		if _, err := exec.LookPath(file); err != nil {
			t.Fatalf("%v; run 'make %s'", err, strings.TrimPrefix(file, s.root+string(filepath.Separator)))
		}
		if err := os.Symlink(file, filepath.Join(s.tools, name)); err != nil {
			t.Fatal(err)
		}
	}
	// The go command caches test results until a file that the test has read changes. So the test reads the sources of the
	// programs.
	for folder := range strings.FieldsSeq(s.command(t, "go", "list", "-deps", "-f",
		"{{with .Module}}{{if .Main}}{{$.Dir}}{{end}}{{end}}", "./cmd/...")) {
		if _, err := os.ReadDir(folder); err != nil {
			t.Fatal(err)
		}
	}
	s.environment = append(os.Environ(), "PATH="+s.tools+string(filepath.ListSeparator)+os.Getenv("PATH"))
	// Their defaults are in the home folder, and a page has another home folder.
	for _, variable := range []string{"GOCACHE", "GOMODCACHE", "GOPATH"} {
		s.environment = append(s.environment, variable+"="+strings.TrimSpace(s.command(t, "go", "env", variable)))
	}
}

func (s *stage) command(t *testing.T, name string, arguments ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), name, arguments...)
	command.Dir = s.root
	out, err := command.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		t.Fatalf("%s: %v\n%s", command, err, failed.Stderr)
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// startOwn starts a cluster that is stopped at the end of the page.
func (s *stage) startOwn(t *testing.T, withOperator bool) *site {
	t.Helper()
	here := s.start(t, withOperator)
	s.own = append(s.own, here)
	return here
}

// start starts a cluster. With an operator it is the same as the cluster of "make dev".
func (s *stage) start(t *testing.T, withOperator bool) *site {
	t.Helper()
	cluster, err := testcluster.Start(t.Context(), testcluster.Options{Nodes: nodes})
	if errors.Is(err, testcluster.ErrNeedsDevCluster) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	here := &site{cluster: cluster, log: filepath.Join(filepath.Dir(cluster.Kubeconfig()), "operator.log")}
	if withOperator {
		if err := here.startOperator(t.Context(), s.tools); err != nil {
			t.Fatal(err)
		}
	}
	return here
}

func (h *site) startOperator(ctx context.Context, tools string) error {
	scheme := k8sruntime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return err
	}
	admin, err := client.New(h.cluster.Config(), client.Options{Scheme: scheme})
	if err != nil {
		return err
	}
	h.admin = admin
	if err := config.Install(ctx, admin); err != nil {
		return err
	}
	if err := admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: exampleNamespace}}); err != nil {
		return err
	}
	identity, err := program.OperatorIdentity(ctx, h.cluster)
	if err != nil {
		return err
	}
	h.operator, err = program.StartProgram(filepath.Join(tools, "fairlead-operator"), h.log, []string{
		"--leader-elect", "--leader-election-namespace=" + program.OperatorNamespace, "--kubeconfig=" + identity.Kubeconfig,
		"--metrics-bind-address=0", "--health-probe-bind-address=0",
	}, func(error) {})
	if err != nil {
		return err
	}
	return program.WaitForLease(ctx, admin)
}

// clear stops the clusters that only the current page uses.
func (s *stage) clear(t *testing.T) {
	t.Helper()
	for _, here := range s.own {
		here.stop(t)
	}
	s.own = nil
}

// end stops all clusters.
func (s *stage) end(t *testing.T) {
	t.Helper()
	s.clear(t)
	if s.shared != nil {
		s.shared.stop(t)
	}
}

// stop stops a cluster, and keeps its logs if the test has failed.
func (h *site) stop(t *testing.T) {
	t.Helper()
	if t.Failed() {
		t.Logf("logs: %s", h.cluster.KeepLogs())
	}
	if h.operator != nil {
		if err := h.operator.Stop(); err != nil {
			t.Error(err)
		}
	}
	if err := h.cluster.Stop(); err != nil {
		t.Error(err)
	}
}
