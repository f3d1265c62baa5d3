package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
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

// FieldOwner is the field manager of the command line's writes.
const FieldOwner = "fairlead-cli"

// Cluster is a connection to a cluster.
type Cluster struct {
	client.Client
	// watcher has no request timeout, because a watch is one long request.
	watcher client.WithWatch
	mapper  meta.RESTMapper
	// served reads the types that the API server serves.
	served discovery.CachedDiscoveryInterface
	config *rest.Config
	// pods reads logs. It has no request timeout, because a log that is followed is one long request.
	pods typedcorev1.PodsGetter
	// Namespace is the namespace in the flags, or else the namespace of the kubeconfig's context.
	Namespace string
}

// Configure sets the user agent and turns off the client's rate limit, because the API server itself limits requests,
// by API Priority and Fairness.
func Configure(flags *genericclioptions.ConfigFlags) *genericclioptions.ConfigFlags {
	flags.WrapConfigFn = func(config *rest.Config) *rest.Config {
		config = rest.CopyConfig(config)
		config.QPS, config.RateLimiter = -1, nil
		config.UserAgent = fmt.Sprintf("%s/%s", FieldOwner, version.Version)
		return config
	}
	return flags
}

// Connect creates clients from flags, without a request.
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
	err = errors.Join(corev1.AddToScheme(scheme), appsv1.AddToScheme(scheme), authorizationv1.AddToScheme(scheme),
		authenticationv1.AddToScheme(scheme), coordinationv1.AddToScheme(scheme))
	if err != nil {
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

// checkNamed returns an error if neither the flags nor the kubeconfig name a cluster. Without this check, client-go
// would connect to localhost:8080, and the error would be about this address.
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

// whyNone explains why the kubeconfig files name no cluster.
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

// As returns a client with the rights of a user. The user of the connection needs the right to impersonate the user.
func (c *Cluster) As(user string) (client.Client, error) {
	config := c.Config()
	config.Impersonate = rest.ImpersonationConfig{UserName: user}
	return client.New(config, client.Options{Scheme: c.Scheme(), Mapper: c.mapper, FieldOwner: FieldOwner})
}
