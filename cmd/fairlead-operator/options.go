package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/fairlead-io/fairlead/internal/operator"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/source/fetch"
)

// options are the values of the flags.
type options struct {
	metrics                 metricsOptions
	probeAddress            string
	profilingAddress        string
	webhook                 webhookOptions
	pollHosts               operator.PollHosts
	leaderElect             bool
	leaderElectionNamespace string
	maxConcurrentReconciles int
	rateLimit               rateLimit
	maxConcurrentWrites     int
	maxRenderedBytes        int
	maxStatusInventory      int
	idleInventory           time.Duration
	defaultServiceAccount   string
	observe                 component.WatchScope
	observeNamespaces       []string
	ownDeployment           string
	fetch                   fetch.Options
	addresses               addressOptions
	quotas                  quotaOptions
	componentMetrics        bool
	events                  eventOptions
	rendering               renderingOptions
	tracing                 tracingOptions
	showVersion             bool
	zap                     zap.Options
}

// newFlagSet binds the flags to options. It also registers --kubeconfig, whose value package config keeps.
func newFlagSet(o *options) *flag.FlagSet {
	flags := flag.NewFlagSet("fairlead-operator", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // The caller reports errors, each in one line.
	flags.StringVar(
		&o.metrics.address,
		"metrics-bind-address",
		":8443",
		"address of the metrics endpoint; 0 turns it off",
	)
	flags.BoolVar(&o.metrics.secure, "metrics-secure", true,
		"serve metrics over HTTPS to clients that the API server authorizes to get /metrics; if false, over HTTP to all "+
			"clients")
	flags.StringVar(&o.metrics.certificates, "metrics-cert-path", "",
		"folder with tls.crt and tls.key for the metrics endpoint; by default the operator creates a self-signed "+
			"certificate at each start")
	flags.StringVar(&o.probeAddress, "health-probe-bind-address", ":8081",
		"address of /healthz and /readyz; 0 turns them off")
	flags.StringVar(&o.profilingAddress, "pprof-bind-address", "0",
		"address of /debug/pprof, which must not be public because it shows memory; 0 turns it off")
	flags.BoolVar(&o.leaderElect, "leader-elect", false,
		"reconcile only as the holder of a Lease, so that only one of several replicas reconciles")
	flags.StringVar(&o.leaderElectionNamespace, "leader-election-namespace", "",
		"namespace of the Lease; by default the namespace of the pod")
	limits := defaultLimits()
	flags.IntVar(&o.maxConcurrentReconciles, "max-concurrent-reconciles", limits.MaxConcurrentReconciles,
		"maximum number of components that are reconciled at the same time")
	flags.Var(&o.rateLimit, "rate-limit",
		"maximum number of passes over a component in a period, such as 10/1m; later passes wait, and handle all changes\n"+
			"together; by default no limit")
	flags.IntVar(&o.maxConcurrentWrites, "max-concurrent-writes", limits.Writers,
		"maximum number of concurrent requests that write dependents in a cluster")
	flags.IntVar(&o.maxRenderedBytes, "max-rendered-bytes", limits.RenderedBytes,
		"maximum compressed size of the cache of rendered objects; objects that were not used for the longest time are "+
			"removed, and rendered again if necessary")
	flags.IntVar(&o.maxStatusInventory, "max-status-inventory-bytes", limits.StatusInventory,
		"maximum size of an inventory in the status of a component, with about 150 bytes for each dependent; larger "+
			"inventories are stored in Secrets")
	flags.DurationVar(&o.idleInventory, "idle-inventory-after", time.Hour,
		"time without a pass after which the inventory of a component leaves the memory, and is read again if necessary;\n"+
			"0 keeps all inventories in memory")
	flags.StringVar(&o.defaultServiceAccount, "default-service-account", "",
		"service account, in the component's namespace, of components without one; by default the operator acts as itself")
	flags.StringVar((*string)(&o.observe), "observe", string(component.WatchScopeCluster),
		"watch scope: with cluster, a watch covers all namespaces;\n"+
			"with namespaces, components are watched in --observe-namespaces, and dependents in their own namespaces;\n"+
			"with identity, dependents are watched in their own namespaces, as the service account of their component")
	flags.Func("observe-namespaces", "namespaces of components, separated by commas; for --observe=namespaces",
		func(names string) error {
			o.observeNamespaces = strings.Split(names, ",")
			return nil
		})
	flags.StringVar(&o.ownDeployment, "own-deployment", "",
		"Deployment in which this program runs, as namespace/name: the operator refuses to delete or prune it,\n"+
			"because this would stop the operator before the work is complete")
	flags.DurationVar(&o.fetch.Timeout, "fetch-timeout", fetch.DefaultTimeout, "maximum time to fetch an archive")
	flags.Int64Var(&o.fetch.ArchiveBytes, "fetch-max-bytes", fetch.DefaultArchiveBytes,
		"maximum size of a fetched archive")
	o.addresses.bind(flags)
	o.rendering.bind(flags)
	o.quotas.bind(flags)
	o.bindEventSources(flags)
	flags.BoolVar(
		&o.componentMetrics,
		"component-metrics",
		true,
		"export metrics of each component, with four series each",
	)
	o.events.bind(flags)
	flags.StringVar(&o.tracing.endpoint, "tracing-endpoint", "",
		"URL of an OpenTelemetry collector for traces over HTTP, such as http://collector:4318; the default is in the\n"+
			"environment variable OTEL_EXPORTER_OTLP_ENDPOINT; without a URL there are no traces")
	flags.Float64Var(&o.tracing.ratio, "tracing-sampling-ratio", 1, "fraction of the passes that are traced, from 0 to 1")
	flags.BoolVar(&o.showVersion, "version", false, "print the version, and exit")
	config.RegisterFlags(flags)
	o.zap.BindFlags(flags)
	return flags
}

// bind binds the flags of renderings.
func (o *renderingOptions) bind(flags *flag.FlagSet) {
	flags.BoolVar(&o.isolated, "rendering-isolation", true,
		"render in child processes without files and network, so that a rendering that needs too much memory or time\n"+
			"harms its own component alone; if false, render in the operator")
	flags.IntVar(&o.processes, "rendering-processes", 0,
		"maximum number of child processes, and so of concurrent renderings; by default as many as processors, at least 2\n"+
			"and at most 4, and at most as many as fit into half of the memory limit of the pod; long renderings of one\n"+
			"namespace hold up others if there is only one")
	flags.Int64Var(&o.memory, "rendering-memory-bytes", 0,
		"maximum memory of a child process; by default 512 MiB, or a quarter of the memory limit of the pod if this is less,\n"+
			"or an equal part of its half with more than two --rendering-processes")
	flags.Int64Var(&o.budget, "memory-budget-bytes", 0,
		"maximum memory of all passes together, by an estimate of their sources, decoded renderings and records; above it,\n"+
			"components wait for each other; by default half of the memory limit of the operator's own process, and no\n"+
			"maximum without a limit")
}

// bindEventSources binds the flags for polls and calls.
func (o *options) bindEventSources(flags *flag.FlagSet) {
	o.webhook.bind(flags)
	flags.Func("poll-hosts",
		"hosts that components may poll (spec.inputs), separated by commas, such as rates.example.com,*.example.org;\n"+
			"without scheme and port: all ports of a host are allowed;\n"+
			"the authors of components see the responses, also those of services that only the operator can reach;\n"+
			"by default none",
		func(hosts string) (err error) {
			o.pollHosts, err = operator.ParsePollHosts(hosts)
			return err
		})
}

// parseOptions parses the command line. The message of an error is one line. The error is flag.ErrHelp if a flag
// requests the usage.
func parseOptions(args []string) (options, error) {
	var o options
	flags := newFlagSet(&o)
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	if flags.NArg() > 0 {
		return options{}, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	err := errors.Join(
		o.validateBounds(), o.quotas.validate(), o.validateNames(), o.validateObserve(), o.webhook.validate(),
		o.addresses.parse(), o.events.validate())
	if err != nil {
		return options{}, errors.New(strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return o, nil
}

// validateBounds checks the flags that limit the operator's work.
func (o options) validateBounds() error {
	var errs []error
	for _, bound := range []struct {
		flag  string
		value int64
	}{
		{"max-concurrent-reconciles", int64(o.maxConcurrentReconciles)},
		{"max-concurrent-writes", int64(o.maxConcurrentWrites)},
		{"max-rendered-bytes", int64(o.maxRenderedBytes)},
		{"max-status-inventory-bytes", int64(o.maxStatusInventory)},
		{"fetch-max-bytes", o.fetch.ArchiveBytes},
	} {
		if bound.value < 1 {
			errs = append(errs, fmt.Errorf("--%s=%d: want 1 or more", bound.flag, bound.value))
		}
	}
	if o.rendering.processes < 0 {
		errs = append(errs, fmt.Errorf("--rendering-processes=%d: want 1 or more", o.rendering.processes))
	}
	if o.rendering.memory != 0 && o.rendering.memory < minRenderingMemory {
		errs = append(errs, fmt.Errorf("--rendering-memory-bytes=%d: want %d or more", o.rendering.memory,
			minRenderingMemory))
	}
	if o.rendering.budget < 0 {
		errs = append(errs, fmt.Errorf("--memory-budget-bytes=%d: want 1 or more", o.rendering.budget))
	}
	if o.idleInventory < 0 {
		errs = append(errs, fmt.Errorf("--idle-inventory-after=%s: want 0 or more", o.idleInventory))
	}
	if o.fetch.Timeout <= 0 {
		errs = append(errs, fmt.Errorf("--fetch-timeout=%s: want more than 0", o.fetch.Timeout))
	}
	if largest := defaultLimits().StatusInventory; o.maxStatusInventory > largest {
		errs = append(errs, fmt.Errorf("--max-status-inventory-bytes=%d: want %d or less",
			o.maxStatusInventory, largest))
	}
	return errors.Join(errs...)
}

// defaultLimits returns the default limits of a reconciler.
func defaultLimits() component.Limits { return component.Options{}.WithDefaults().Limits }

// validateNames checks flags with names, addresses and paths.
func (o options) validateNames() error {
	switch {
	case o.tracing.ratio < 0 || o.tracing.ratio > 1:
		return fmt.Errorf("--tracing-sampling-ratio=%v: want a number from 0 to 1", o.tracing.ratio)
	case o.tracing.validate() != nil:
		return fmt.Errorf("--tracing-endpoint=%s: %w", o.tracing.endpoint, o.tracing.validate())
	case o.defaultServiceAccount != "" && len(validation.IsDNS1123Subdomain(o.defaultServiceAccount)) > 0:
		return fmt.Errorf("--default-service-account=%s: want the name of a service account", o.defaultServiceAccount)
	case o.ownDeployment != "" && !isNamespacedName(o.ownDeployment):
		return fmt.Errorf("--own-deployment=%s: want namespace/name", o.ownDeployment)
	case o.metrics.validate() != nil:
		return fmt.Errorf("--metrics-cert-path=%s: %w", o.metrics.certificates, o.metrics.validate())
	case o.leaderElectionNamespace != "" && !o.leaderElect:
		return fmt.Errorf("--leader-election-namespace=%s: it needs --leader-elect", o.leaderElectionNamespace)
	}
	return nil
}

// validateObserve checks the flags for the watch scope.
func (o options) validateObserve() error {
	err, names := o.observe.Check(o.observeNamespaces), strings.Join(o.observeNamespaces, ",")
	switch {
	case err == nil:
		return nil
	case o.observe == component.WatchScopeNamespaces && len(o.observeNamespaces) == 0:
		return fmt.Errorf("--observe=%s: name the namespaces with --observe-namespaces", o.observe)
	case o.observe == component.WatchScopeNamespaces:
		return fmt.Errorf("--observe-namespaces=%s: %w", names, err)
	case o.observe.Check(nil) == nil:
		return fmt.Errorf("--observe-namespaces=%s: it needs --observe=%s", names, component.WatchScopeNamespaces)
	}
	return fmt.Errorf("--observe=%s: %w", o.observe, err)
}

func isNamespacedName(text string) bool {
	namespace, name, found := strings.Cut(text, "/")
	return found && len(validation.IsDNS1123Label(namespace)) == 0 && len(validation.IsDNS1123Subdomain(name)) == 0
}

// self returns the Deployment in which this program runs. The result is empty if the Deployment is unknown.
func (o options) self() types.NamespacedName {
	namespace, name, _ := strings.Cut(o.ownDeployment, "/")
	return types.NamespacedName{Namespace: namespace, Name: name}
}

func printUsage(out io.Writer) {
	_, _ = fmt.Fprint(out, "Usage: fairlead-operator [flags]\n\nReconciles the Components of a cluster.\n\nFlags:\n")
	newFlagSet(&options{}).VisitAll(func(f *flag.Flag) {
		_, _ = fmt.Fprintf(out, "  --%s\n      %s", f.Name, strings.ReplaceAll(f.Usage, "\n", "\n      "))
		if f.DefValue != "" && f.DefValue != "false" {
			_, _ = fmt.Fprintf(out, " (default %s)", f.DefValue)
		}
		_, _ = fmt.Fprintln(out)
	})
}
