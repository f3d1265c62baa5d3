// Package cluster connects to a cluster as kubectl does, and finds, decodes and watches components there.
//
// It sends all requests of the command line except dry runs of plan and diff. Its errors are of package exit if the
// kubeconfig or the names that a person gave are wrong; errors of the API server are returned unchanged.
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
	// watcher has no request timeout: a watch is one long request.
	watcher client.WithWatch
	mapper  meta.RESTMapper
	// served lists the types that the API server serves.
	served discovery.DiscoveryInterface
	config *rest.Config
	// pods reads logs, without a request timeout.
	pods typedcorev1.PodsGetter
	// Namespace is that of the flags, or else of the kubeconfig's context.
	Namespace string
}

// Configure sets the user agent and turns the client's rate limit off. API Priority and Fairness limits requests in the
// API server.
func Configure(flags *genericclioptions.ConfigFlags) *genericclioptions.ConfigFlags {
	flags.WrapConfigFn = func(config *rest.Config) *rest.Config {
		config = rest.CopyConfig(config)
		config.QPS, config.RateLimiter = -1, nil
		config.UserAgent = fmt.Sprintf("%s/%s", FieldOwner, version.Version)
		return config
	}
	return flags
}

// Connect makes clients from flags. It sends no request.
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

// checkNamed returns an error if no cluster is named. client-go would use localhost:8080, and a person would get an
// error about that.
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
		return exit.Unasked("kubeconfig: %s; name a file with KUBECONFIG or --kubeconfig", whyNone(files))
	}
	name := cmp.Or(*flags.Context, raw.CurrentContext)
	switch named := raw.Contexts[name]; {
	case *flags.ClusterName != "", named != nil && named.Cluster != "":
		return nil
	case name == "":
		return exit.Unasked("kubeconfig: no current context in %s; name one with --context, or with kubectl config "+
			"use-context", strings.Join(files, ", "))
	default:
		return exit.Unasked("kubeconfig: the context %q names no cluster; name one with --cluster, or another context "+
			"with --context", name)
	}
}

// whyNone explains why the files name no cluster.
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

// Config returns the configuration of the connection.
func (c *Cluster) Config() *rest.Config { return rest.CopyConfig(c.config) }
