// Package cluster connects to a cluster as kubectl does, and finds, decodes and follows components there.
package cluster

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
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
	config  *rest.Config
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
	mapper, err := flags.ToRESTMapper()
	if err != nil {
		return nil, exit.Unasked("kubeconfig: %w", err)
	}
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	options := client.Options{Scheme: scheme, Mapper: mapper, FieldOwner: FieldOwner}
	c := &Cluster{mapper: mapper, config: config, Namespace: namespace}
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

// Config returns how the cluster is reached.
func (c *Cluster) Config() *rest.Config { return rest.CopyConfig(c.config) }
