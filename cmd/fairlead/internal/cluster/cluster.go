// Package cluster connects to a cluster as kubectl does, and finds, decodes and follows components there.
package cluster

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/discovery"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/internal/version"
)

// FieldOwner is the field manager of what the command line writes.
const FieldOwner = "fairlead-cli"

// Cluster is a connection to a cluster.
type Cluster struct {
	client.Client
	// watcher has no time-out for a request: a watch is one.
	watcher client.WithWatch
	mapper  meta.RESTMapper
	// served tells what types there are.
	served discovery.DiscoveryInterface
	config *rest.Config
	// pods reads the logs of pods, without a time-out for a request.
	pods typedcorev1.PodsGetter
	// Namespace is the one of the flags, or else of the kubeconfig's context.
	Namespace string
}

// Configure makes flags connect without a rate limit on the client's side, under the name of this program. The API server has a limit
// of its own.
func Configure(flags *genericclioptions.ConfigFlags) *genericclioptions.ConfigFlags {
	flags.WrapConfigFn = func(config *rest.Config) *rest.Config {
		config = rest.CopyConfig(config)
		config.QPS, config.RateLimiter = -1, nil
		config.UserAgent = fmt.Sprintf("%s/%s", FieldOwner, version.Version)
		return config
	}
	return flags
}

// Connect makes clients from flags. It asks the cluster nothing yet.
func Connect(flags *genericclioptions.ConfigFlags) (*Cluster, error) {
	if _, err := clientcmd.ParseTimeout(*flags.Timeout); err != nil {
		return nil, exit.BadUsage("--request-timeout %q: want a number of seconds, or a duration such as 30s", *flags.Timeout)
	}
	namespace, _, err := flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, exit.Unasked("kubeconfig: %w", err)
	}
	config, err := flags.ToRESTConfig()
	if err != nil {
		return nil, exit.Unasked("kubeconfig: %w", err)
	}
	if err := checkNamed(flags, config); err != nil {
		return nil, err
	}
	mapper, err := flags.ToRESTMapper()
	if err != nil {
		return nil, exit.Unasked("kubeconfig: %w", err)
	}
	served, err := flags.ToDiscoveryClient()
	if err != nil {
		return nil, exit.Unasked("kubeconfig: %w", err)
	}
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	options := client.Options{Scheme: scheme, Mapper: mapper, FieldOwner: FieldOwner}
	c := &Cluster{mapper: mapper, served: served, config: config, Namespace: namespace}
	if c.Client, err = client.New(config, options); err != nil {
		return nil, exit.Unasked("kubeconfig: %w", err)
	}
	unlimited := rest.CopyConfig(config)
	unlimited.Timeout = 0
	if c.watcher, err = client.NewWithWatch(unlimited, options); err != nil {
		return nil, exit.Unasked("kubeconfig: %w", err)
	}
	if c.pods, err = typedcorev1.NewForConfig(unlimited); err != nil {
		return nil, exit.Unasked("kubeconfig: %w", err)
	}
	return c, nil
}

// checkNamed refuses to ask whatever listens where kubectl looks for a cluster that nobody named.
func checkNamed(flags *genericclioptions.ConfigFlags, config *rest.Config) error {
	if config.Host != clientcmd.ClusterDefaults.Server || *flags.APIServer != "" || os.Getenv("KUBERNETES_MASTER") != "" {
		return nil
	}
	loader := flags.ToRawKubeConfigLoader()
	raw, err := loader.RawConfig()
	if err != nil {
		return err
	}
	files := loader.ConfigAccess().GetLoadingPrecedence()
	if len(raw.Clusters) == 0 {
		return exit.Unasked("kubeconfig: %s; name a file by KUBECONFIG or --kubeconfig", whyNone(files))
	}
	name := cmp.Or(*flags.Context, raw.CurrentContext)
	switch named := raw.Contexts[name]; {
	case *flags.ClusterName != "", named != nil && named.Cluster != "":
		return nil
	case name == "":
		return exit.Unasked("kubeconfig: no current context in %s; name one by --context, or by kubectl config use-context", strings.Join(files, ", "))
	default:
		return exit.Unasked("kubeconfig: the context %q names no cluster; name one by --cluster, or another context by --context", name)
	}
}

// whyNone says why files have no cluster.
func whyNone(files []string) string {
	missing := slices.DeleteFunc(slices.Clone(files), func(name string) bool {
		_, err := os.Stat(name)
		return err == nil
	})
	if len(missing) > 0 {
		return "no such file: " + strings.Join(missing, ", ")
	}
	return "no cluster in " + strings.Join(files, ", ")
}

// Config returns how the cluster is reached.
func (c *Cluster) Config() *rest.Config { return rest.CopyConfig(c.config) }
